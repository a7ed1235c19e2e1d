// The live panel: receives frames of escaped HTML from the kernel and changes the page
// where they differ, so that open details, scroll positions and selections stay.

const TELL_EVERY_MS = 5000;   // a screen reader hears the run at most this often
const ALIVE_EVERY_MS = 4000;  // the kernel sends frames only while somebody looks
const SILENT_MS = 20000;      // a kernel that lives says so every few seconds, also while it is busy

const SLIDE_MS = 60;
const TYPED_MS = 200;

const RELEASED = ["pointerup", "pointercancel", "blur"];

const KEYS = {
  p: { commands: ["pause", "resume"] },
  " ": { commands: ["hold", "play"] },
  ArrowLeft: { send: "back" },
  ArrowRight: { send: "forward" },
  PageUp: { send: "back 10" },
  PageDown: { send: "forward 10" },
  Home: { send: "first" },
  End: { send: "newest" },
  Escape: { commands: ["select none"] },
};

// With Alt: from row to row, inside of a micro-batch.
const ROW_KEYS = { ArrowLeft: "row back", ArrowRight: "row on", Home: "row first" };

const ENDED = ["■", "ended with its kernel",
  "The kernel was restarted or shut down, and the run ended with it. This is its last picture: run the cell again."];
const SILENT = ["◌", "no answer",
  "The kernel has not answered for some time: it may be busy, or gone. This is the last picture that came."];

// Where the keys of a list of tabs lead, from a tab of so many.
const TAB_KEYS = {
  ArrowLeft: (at) => at - 1, ArrowRight: (at, tabs) => (at + 1) % tabs, Home: () => 0, End: () => -1,
};

function sameKind(a, b) {
  return a && a.nodeType === b.nodeType && a.nodeName === b.nodeName && keyOf(a) === keyOf(b);
}

function keyOf(node) {
  return node.nodeType === Node.ELEMENT_NODE ? node.getAttribute("data-key") : null;
}

function morphAttributes(old, next) {
  for (const { name, value } of next.attributes)
    if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  for (const { name } of [...old.attributes])
    if (!next.hasAttribute(name) && !(name === "open" && old.nodeName === "DETAILS"))
      old.removeAttribute(name);
}

// What a person has moved is a property; a frame only says its attribute. A field that is
// being typed in, and a slider that the page itself answers, keep what they have.
function morphControl(old, next) {
  if (old.type === "search" && old === old.getRootNode().activeElement) return;
  if ("steps" in old.dataset) return;
  if (old === old.getRootNode().activeElement && old.matches(":active")) return;
  if (old.nodeName === "INPUT") old.value = next.getAttribute("value");
  else old.value = next.querySelector("[selected]")?.value ?? old.value;
}

function morph(old, next) {
  if (old.nodeType !== Node.ELEMENT_NODE) {
    if (old.nodeValue !== next.nodeValue) old.nodeValue = next.nodeValue;
    return;
  }
  morphAttributes(old, next);
  morphChildren(old, next);
  if (old.nodeName === "INPUT" || old.nodeName === "SELECT") morphControl(old, next);
}

function morphChildren(old, next) {
  const keyed = new Map([...old.children].filter(keyOf).map((c) => [keyOf(c), c]));
  let here = old.firstChild;
  for (const child of [...next.childNodes]) {
    const known = keyOf(child) ? keyed.get(keyOf(child)) : here;
    if (sameKind(known, child)) {
      if (known === here) here = here.nextSibling;
      else old.insertBefore(known, here);
      morph(known, child);
    } else {
      old.insertBefore(child, here);
    }
  }
  while (here) {
    const gone = here;
    here = here.nextSibling;
    gone.remove();
  }
}

// A slider that needs no kernel: each of its places has a text, and where its line is drawn.
function settle(slider) {
  const steps = JSON.parse(slider.dataset.steps), place = slider.closest("[data-local]");
  const [x, said] = steps[Math.min(Number(slider.value), steps.length - 1)];
  place.querySelector("output").textContent = said;
  slider.setAttribute("aria-valuetext", said);
  place.querySelector(".chosen-line")?.setAttribute("transform", `translate(${x},0)`);
}

function themeOf(body) {
  if (body.dataset.jpThemeLight) return body.dataset.jpThemeLight === "true" ? "light" : "dark";
  if (body.dataset.vscodeThemeKind) return body.dataset.vscodeThemeKind.includes("light") ? "light" : "dark";
  return "";
}

// A frame of a kernel that is gone moves no more: its state says so, and it has no buttons.
function markLost(panel, [glyph, word, why]) {
  const header = panel.querySelector("header"), state = header?.querySelector(".state");
  if (!state || state.dataset.lost === word) return;
  const sign = document.createElement("i"), note = document.createElement("p");
  sign.setAttribute("aria-hidden", "true");
  sign.textContent = glyph;
  note.className = "note";
  note.textContent = why;
  state.className = "state lost";
  state.dataset.lost = word;
  state.replaceChildren(sign, word);
  for (const gone of panel.querySelectorAll(".keys, .tabs, .scrubber, .pace, .note")) gone.remove();
  // Nobody hears a click any more.
  for (const mute of panel.querySelectorAll("[data-do]"))
    for (const name of ["data-do", "role", "tabindex", "aria-pressed"]) mute.removeAttribute(name);
  header.after(note);
  panel.firstElementChild.dataset.told = `${word}. ${why}`;
}

function render({ model, el }) {
  const host = document.createElement("div");
  host.className = "arroyo-live";
  host.tabIndex = 0;
  const root = host.attachShadow({ mode: "open" });
  const style = document.createElement("style");
  style.textContent = model.get("sheet");
  const panel = document.createElement("div");
  const said = document.createElement("div");
  said.className = "arroyo-said";
  said.setAttribute("aria-live", "polite");
  root.append(style, panel, said);

  // While the live panel is on the page, the snapshot beside it is not shown.
  const hide = document.createElement("style");
  hide.textContent = `.${model.get("still")} { display: none !important }`;
  el.append(hide, host);

  let lastTold = 0;
  const tell = () => {
    const now = Date.now();
    if (now - lastTold < TELL_EVERY_MS) return;
    lastTold = now;
    said.textContent = panel.firstElementChild?.dataset.told ?? "";
  };
  // A frame between the press and the release of a button may put another element under the
  // pointer, and the browser would make no click of it: frames wait until then.
  let pressed = false, waiting = false;
  const press = (on) => {
    pressed = on;
    if (!on && waiting) draw();
  };
  const draw = () => {
    waiting = pressed;
    if (pressed) return;
    const next = document.createElement("template");
    next.innerHTML = model.get("frame");
    morphChildren(panel, next.content);
    panel.querySelectorAll("input[data-steps]").forEach(settle);
    tell();
  };
  let heardAt = Date.now(), ended = false;
  const lose = (how) => { markLost(panel, how); tell(); };
  const end = () => { ended = true; lose(ENDED); };
  // It throws where the connection to the kernel is closed for good.
  const send = (what) => {
    try {
      Promise.resolve(model.send({ do: what })).catch(end);
    } catch {
      end();
    }
  };
  const heard = () => {
    heardAt = Date.now();
    ended = false;
    draw();
  };
  const alive = () => {
    if (document.hidden || ended) return;
    send("alive");
    if (!ended && Date.now() - heardAt > SILENT_MS) lose(SILENT);
  };
  const shown = () => {
    if (!document.hidden) heardAt = Date.now();  // nothing is sent to a hidden page
    alive();
  };
  const paint = () => { host.dataset.theme = themeOf(document.body); };

  // The page's own: one figure as big as the screen. Where no full screen is allowed it fills
  // its place.
  const present = (on = !host.classList.contains("present")) => {
    host.classList.toggle("present", on);
    if (on) host.requestFullscreen?.().catch(() => {});
    else if (document.fullscreenElement) document.exitFullscreen().catch(() => {});
    host.focus();
  };
  const left = () => { if (!document.fullscreenElement) host.classList.remove("present"); };
  document.addEventListener("fullscreenchange", left);

  root.addEventListener("pointerdown", ({ target }) => {
    if (target.closest("button, [data-do][tabindex], summary")) press(true);
  });
  const released = () => setTimeout(press, 0, false);  // the click comes first
  for (const name of RELEASED) window.addEventListener(name, released);
  root.addEventListener("click", (event) => {
    if (event.target.closest("[data-page=present]")) return present();
    const key = event.target.closest("button[data-do], [data-do][tabindex]");
    if (key) send(key.dataset.do);
  });
  root.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const picked = event.target.closest("[data-do][tabindex]:not(button)");
    const tab = event.target.closest("[role=tab]");
    if (picked && (event.key === "Enter" || event.key === " ")) send(picked.dataset.do);
    else if (tab && TAB_KEYS[event.key]) {
      const tabs = [...tab.parentElement.querySelectorAll("[role=tab]")];
      const to = tabs.at(TAB_KEYS[event.key](tabs.indexOf(tab), tabs.length));
      to.focus();
      to.click();
    } else return;
    event.preventDefault();
    event.stopPropagation();  // in command mode the notebook has keys of its own
  });
  // One message for as many places as a slider passes between two frames.
  let slid = null, typed = null;
  root.addEventListener("input", ({ target }) => {
    if ("steps" in target.dataset) return settle(target);
    if (target.type === "search") {
      clearTimeout(typed);
      typed = setTimeout(() => send(`${target.dataset.do} ${target.value}`), TYPED_MS);
    }
    if (target.type !== "range") return;
    if (slid === null)
      setTimeout(() => { send(`${target.dataset.do} ${slid}`); slid = null; }, SLIDE_MS);
    slid = target.value;
  });
  root.addEventListener("change", ({ target }) => {
    if (target.nodeName !== "SELECT" || !target.value) return;
    send(`${target.dataset.do} ${target.value}`);
    if ("once" in target.dataset) target.selectedIndex = 0;
  });
  const clickOn = (...commands) => {
    const key = commands.map((c) => panel.querySelector(`button[data-do="${c}"]`)).find(Boolean);
    key?.click();
    return Boolean(key);
  };
  const scrubs = () => panel.querySelector(".scrubber") !== null;
  host.addEventListener("keydown", (event) => {
    // Letters that are typed are no keys of the panel, nor of the notebook.
    const field = root.activeElement;
    if (field?.type === "search" || "steps" in (field?.dataset ?? {})) return event.stopPropagation();
    if (event.ctrlKey || event.metaKey || event.target.nodeName === "SELECT") return;
    if (event.key.toLowerCase() === "f" || (event.key === "Escape" && host.classList.contains("present"))) {
      present();
      event.preventDefault();
      event.stopPropagation();
      return;
    }
    if (event.altKey) {
      const row = ROW_KEYS[event.key];
      if (!row || !panel.querySelector(".by-row")) return;
      send(row);
      event.preventDefault();  // a browser goes back with it
      event.stopPropagation();
      return;
    }
    const act = KEYS[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    const inner = root.activeElement?.nodeName;
    if (!act || inner === "SELECT" || (event.key === " " && inner === "BUTTON")) return;
    if (act.commands ? !clickOn(...act.commands) : !scrubs()) return;
    if (act.send) send(act.send);
    event.preventDefault();
    event.stopPropagation();
  });

  // Where a letter is typed into the filter, the notebook must not take it for a command.
  root.addEventListener("focusin", ({ target }) => {
    if (target.type === "search") host.dataset.lmSuppressShortcuts = "true";
  });
  root.addEventListener("focusout", () => { delete host.dataset.lmSuppressShortcuts; });

  const themes = new MutationObserver(paint);
  themes.observe(document.body, { attributes: true });
  const beat = setInterval(alive, ALIVE_EVERY_MS);
  document.addEventListener("visibilitychange", shown);
  model.on("change:frame change:beat", heard);
  model.on("comm_live_update", end);  // the kernel is restarted
  paint();
  draw();
  alive();
  return () => {
    clearInterval(beat);
    themes.disconnect();
    document.removeEventListener("visibilitychange", shown);
    document.removeEventListener("fullscreenchange", left);
    for (const name of RELEASED) window.removeEventListener(name, released);
    model.off("change:frame change:beat", heard);
    model.off("comm_live_update", end);
  };
}

export default { render };

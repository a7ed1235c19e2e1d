
// Answers the panel in place of a kernel: every frame is on the page already.

async function unpacked() {
  const packed = Uint8Array.from(atob(document.getElementById("frames").textContent), (c) => c.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  return JSON.parse(await new Response(stream).text());
}

const TICK_MS = 100;

class Replay {
  constructor(frames, sheet) {
    this.frames = frames;
    // Frames of batches that have ended; before them lie those of their rows.
    this.ends = frames.flatMap(([, , , , ended], place) => (ended ? [place] : []));
    this.sheet = sheet;
    this.at = frames.length - 1;
    this.speed = 0;
    this.view = null;
    this.find = "";
    this.heard = [];
  }

  get(name) {
    return { sheet: this.sheet, still: "none", frame: this.frame() }[name];
  }

  // The bar of a frame says that it stands: here it may play. What has no frame, the plan,
  // has no tab.
  frame() {
    const views = this.frames[this.at][2];
    const page = document.createElement("template");
    page.innerHTML = views[this.view] ?? Object.values(views)[0];
    for (const tab of page.content.querySelectorAll('.tabs [data-do^="view "]'))
      if (!(tab.dataset.do.slice(5) in views)) tab.remove();
    if (!this.frames.some(([, , , row]) => row)) page.content.querySelector(".by-row")?.remove();
    this.filter(page.content);
    if (!this.speed) return page.innerHTML;
    const key = page.content.querySelector('button[data-do="play"]');
    key.dataset.do = "hold";
    key.textContent = "‖";
    page.content.querySelector("option[selected]")?.removeAttribute("selected");
    page.content.querySelector(`option[value="${this.speed}"]`)?.setAttribute("selected", "");
    return page.innerHTML;
  }

  // The rows of the table that have every word; the page has the newest ones only.
  filter(content) {
    const field = content.querySelector(".search input"), words = this.find.toLowerCase().split(/\s+/).filter(Boolean);
    if (!field || !words.length) return;
    field.setAttribute("value", this.find);
    const rows = [...content.querySelectorAll(".search ~ .rows tbody tr")];
    const others = rows.filter((row) => !words.every((word) => row.textContent.toLowerCase().includes(word)));
    for (const row of others) row.remove();
    field.parentElement.querySelector("span").textContent = `${rows.length - others.length} of ${rows.length} rows have it`;
  }

  on(names, call) { if (names.includes("frame")) this.heard.push(call); }
  off() {}

  send({ do: command }) {
    const [word, value] = command.split(" ");
    const last = this.frames.length - 1;
    const count = Number(value ?? 1);
    const end = this.ends.findIndex((place) => place >= this.at);  // of the batch
    const ended = (number) => this.ends.at(Math.min(Math.max(number, 0), this.ends.length - 1));
    const places = {
      at: () => ended(this.ends.findLastIndex((place) => this.frames[place][0] <= count)),
      back: () => ended(end - count),
      forward: () => ended(end + count),
      first: () => ended(0),
      newest: () => last,
      hold: () => this.ends[end],
      play: () => (this.at === last ? ended(0) : this.ends[end]),
      row: () => this.row(value, end ? this.ends[end - 1] + 1 : 0),
    };
    if (word in places) {
      this.at = Math.min(Math.max(places[word](), 0), last);
      this.speed = word === "play" ? count : 0;
      this.playedAt = performance.now();
      this.second = this.frames[this.at][1];
      for (const call of this.heard) call();
    } else {
      if (word === "view") this.view = value;
      if (word === "find") this.find = command.slice(5).trim();
      for (const call of this.heard) call();  // it lives, and has nothing else to say
    }
  }

  // The place of the row before or after, over batches without any; or of the batch's first.
  row(which, first) {
    if (which === "first") return first;
    const step = which === "on" ? 1 : -1;
    let place = this.at + step;
    while (this.frames[place]?.[3] === 0) place += step;
    return this.frames[place] || step > 0 ? place : this.at;
  }

  tick() {
    if (!this.speed) return;
    const now = performance.now();
    this.second += (this.speed * (now - this.playedAt)) / 1000;
    this.playedAt = now;
    const next = this.frames.findLastIndex(([, ended, , , isEnd]) => isEnd && ended <= this.second);
    if (next >= this.frames.length - 1) this.speed = 0;
    this.at = Math.max(next, this.at);
    for (const call of this.heard) call();
  }
}

const sheet = JSON.parse(document.getElementById("sheet").textContent);
const model = new Replay(await unpacked(), sheet);
const place = document.getElementById("panel");
render({ model, el: place });
place.querySelector("[tabindex]").focus();  // its keys work at once: the page has nothing else
setInterval(() => model.tick(), TICK_MS);

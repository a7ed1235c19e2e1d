"""Where labels of pictures really lie, as a browser measures them: never over each
other, and never over a curve or a mark."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

sys.path.append(str(Path(__file__).parents[1] / "unit" / "views"))

from time_scenes import HOUR, MINUTE, SECOND, Stream

from arroyo_nb.run.observe.snapshot import Moment, Snapshot
from arroyo_nb.views.panel import body, style

PICTURES = 200

FAULTS = """() => {
  // A text covers its letters: its box has room for the tallest ones.
  const ink = (text) => {
    const box = text.getBoundingClientRect(), high = box.height;
    return {left: box.left + 0.5, right: box.right - 0.5,
            top: box.top + high * 0.22, bottom: box.bottom - high * 0.22};
  };
  const LINES = 'path.watermark, path.newest, path.source, path.closing, ' +
    'line.ideal, .watermark line, .newest line, .share line';
  const faults = [];
  for (const [number, svg] of document.querySelectorAll('svg.picture').entries()) {
    const frame = svg.getBoundingClientRect();
    const texts = [...svg.querySelectorAll('text')]
      .filter((text) => text.textContent && text.textContent !== '×')
      .map((text) => [text.textContent, ink(text)]);
    const say = (what) => faults.push(`picture ${number}: ${what}`);
    for (const [i, [a, one]] of texts.entries()) {
      if (one.left < frame.left - 1 || one.right > frame.right + 1)
        say(`'${a}' leaves the picture`);
      for (const [b, other] of texts.slice(i + 1))
        if (one.left < other.right && other.left < one.right &&
            one.top < other.bottom && other.top < one.bottom)
          say(`'${a}' lies over '${b}'`);
    }
    for (const line of svg.querySelectorAll(LINES)) {
      const matrix = line.getScreenCTM(), whole = line.getTotalLength();
      for (let at = 0; at <= whole; at += 1.5) {
        const {x, y} = line.getPointAtLength(at).matrixTransform(matrix);
        const hit = texts.find(([, box]) => box.left < x && x < box.right &&
          box.top < y && y < box.bottom);
        if (hit) {
          say(`'${hit[0]}' lies over ${line.getAttribute('class') || 'a line'}`);
          break;
        }
      }
    }
  }
  return faults;
}"""


def streams() -> Iterator[Snapshot]:
    """Runs of all kinds, at random: few rows and many, short and long delays, windows
    that overlap, several sources, stepped and played ones."""
    for seed in range(PICTURES):
        rng = random.Random(seed)
        unit = rng.choice([SECOND, MINUTE, HOUR])
        width = rng.choice([5, 10, 30, 60]) * unit
        made = Stream(
            width=width,
            slide=rng.choice([None, None, width / 5, width / 2]),
            delay=rng.choice([0, 1, 10, 40]) * unit,
            disorder=max(rng.random() * 30, 0.1) * unit,
            pace=rng.choice([0.5, 3, 12, 60]) * unit,
            batches=rng.choice([1, 2, 3, 5, 8, 12, 30, 90]),
            rows=rng.choice([1, 1, 2, 5, 40]),
            batch_s=rng.choice([0.2, 1.5, 30.0]),
            sources=rng.choice(
                [("clicks",), ("clicks",), ("clicks", "views_of_a_page")]
            ),
            ended=rng.random() < 0.3,
            seed=seed,
        ).snapshot()
        newest = made.batch_id or 0
        yield replace(
            made,
            clock_axis=rng.choice([None, False, True]),
            speed=rng.choice([0.0, 60.0, 3_600.0]),
            moment=rng.choice([None, Moment(newest, 0, newest)]),
        )


@pytest.fixture(scope="module")
def drawn() -> list[Snapshot]:
    """The runs that are drawn."""
    return list(streams())


@pytest.mark.parametrize("view", ["arrivals", "windows", "watermark"])
def test_no_label_lies_over_another_or_over_a_line(
    browser: Any, drawn: list[Snapshot], view: str
) -> None:
    """In both themes: a style sheet may give each its own letters and lines."""
    frames = "".join(body(snapshot, view=view) for snapshot in drawn)
    page = browser.new_page()
    faults = []
    try:
        page.set_viewport_size({"width": 960, "height": 900})
        page.set_content(
            f"<style>{style()} .arroyo {{ width: 900px }}</style>"
            f"<style id=theme></style>{frames}"
        )
        pictures = page.evaluate("document.querySelectorAll('svg.picture').length")
        assert pictures >= PICTURES * 0.9
        for theme in ("light", "dark"):
            page.evaluate(
                "(sheet) => { document.querySelector('#theme').textContent = sheet; }",
                f":root, .arroyo {{ color-scheme: {theme} }}",
            )
            page.screenshot(path=f"build/layout-{view}-{theme}.png", full_page=False)
            faults += [f"{theme}: {fault}" for fault in page.evaluate(FAULTS)]
    finally:
        page.close()
    assert not faults, "\n".join([f"{len(faults)} faults", *faults[:40]])

// Part of the viewer: the frames of a slide's ROIs. They come once per slide; only those in view are drawn.
const ACCENT = "#0B6B6B";
const INK = "#1B2126";
const REJECTED = "#A33A22";
const DASHED_FROM_PX = 12; // a smaller frame has no room for dashes, which are slow to draw
const LAYERS = {
  selected: { words: "Selected", colour: ACCENT, width: 3, dash: [] },
  candidate: { words: "Candidates", colour: INK, width: 1, dash: [4, 3] },
  rejected: { words: "Rejected", colour: REJECTED, width: 1.5, dash: [1, 3] },
};

function swatch({ colour, width, dash }) {
  return `<svg viewBox="0 0 14 14" aria-hidden="true"><rect x="2" y="2" width="10" height="10" fill="none" ` +
    `stroke="${colour}" stroke-width="${width}" stroke-dasharray="${dash.join(" ")}"/></svg>`;
}

function trace(context, corners) {
  context.moveTo(...corners[0]);
  for (const corner of corners.slice(1)) context.lineTo(...corner);
  context.closePath();
}

class Frames {
  constructor() {
    this.slide = null;
    this.all = [];
    this.shown = new Set(["selected"]);
    this.chosen = null; // an id
  }

  /** Ask for the frames of a slide; the browser asks only whether they are still the same. */
  async load(slide) {
    if (slide !== this.slide) {
      this.slide = slide;
      this.all = [];
      this.chosen = null;
    }
    const answer = await fetch(`/api/slides/${slide}/frames`).catch(() => null);
    if (!answer?.ok || this.slide !== slide) return; // what is drawn stays
    const { frames } = await answer.json();
    if (this.slide !== slide) return;
    this.all = frames.map(([id, x, y, side, state, magnification, size, version, drawn]) =>
      ({ id, x, y, side, state, magnification, size, version, drawn }));
  }

  count(state) { return this.all.reduce((sum, frame) => sum + (frame.state === state), 0); }

  get chosenFrame() { return this.all.find((frame) => frame.id === this.chosen) ?? null; }

  isShown(frame) { return this.shown.has(frame.state); }

  /** The frames in view, as the corners of each on the stage. */
  *inView(place, width, height) {
    for (const frame of this.all) {
      if (!this.isShown(frame)) continue;
      const corners = place.corners(frame.x, frame.y, frame.side);
      const [xs, ys] = [corners.map(([x]) => x), corners.map(([, y]) => y)];
      if (Math.max(...xs) < 0 || Math.min(...xs) > width || Math.max(...ys) < 0 || Math.min(...ys) > height) continue;
      yield [frame, corners];
    }
  }

  /** Draw what is in view but the frame of one id, and return how many that were. */
  draw(context, place, width, height, except) {
    const paths = new Map(Object.keys(LAYERS).map((state) => [state, []]));
    let drawn = 0;
    for (const [frame, corners] of this.inView(place, width, height)) {
      drawn += 1;
      if (frame.id !== except) paths.get(frame.state)?.push(corners);
    }
    for (const state of ["rejected", "candidate", "selected"]) {
      const { colour, width: line, dash } = LAYERS[state];
      for (const isSmall of [true, false]) {
        context.beginPath();
        for (const corners of paths.get(state)) {
          const side = Math.hypot(corners[1][0] - corners[0][0], corners[1][1] - corners[0][1]);
          if (side < DASHED_FROM_PX === isSmall) trace(context, corners);
        }
        context.setLineDash(isSmall ? [] : dash);
        context.lineWidth = isSmall ? Math.min(line, 1.5) : line;
        context.strokeStyle = colour;
        context.stroke();
      }
    }
    return drawn;
  }

  /** The smallest shown frame that holds a point of the slide. */
  at(x, y) {
    return this.all.filter((frame) => this.isShown(frame) &&
      x >= frame.x && y >= frame.y && x <= frame.x + frame.side && y <= frame.y + frame.side)
      .reduce((least, frame) => (least && least.side <= frame.side ? least : frame), null);
  }

  /** The frame before or after the chosen one, in reading order, of those in view. */
  step(by, place, width, height) {
    const near = [...this.inView(place, width, height)].map(([frame]) => frame)
      .sort((one, other) => one.y - other.y || one.x - other.x);
    const now = near.findIndex((frame) => frame.id === this.chosen);
    return near[now < 0 ? (by > 0 ? 0 : near.length - 1) : (now + by + near.length) % near.length] ?? null;
  }
}

/** Stroke a square twice, so that it is seen on any tissue. */
function outline(context, corners, colour, dash = []) {
  for (const [width, stroke, dashes] of [[6, "#ffffff", []], [3, colour, dash]]) {
    context.beginPath();
    trace(context, corners);
    context.setLineDash(dashes);
    context.lineWidth = width;
    context.strokeStyle = stroke;
    context.stroke();
  }
}


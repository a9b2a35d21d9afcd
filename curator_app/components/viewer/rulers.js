// Part of the viewer: rulers between two points of a slide. They are for looking and are stored nowhere.
const RULER = "#1B2126";

function lengthInWords(microns) {
  if (microns >= 1000) return `${(microns / 1000).toFixed(2)} mm`;
  return `${microns < 99.95 ? microns.toFixed(1) : Math.round(microns)} µm`;
}

class Rulers {
  constructor(viewer) {
    this.viewer = viewer;
    this.active = false;
    this.bySlide = new Map();
    this.from = null;
    this.pointer = null;
  }

  get all() { return this.bySlide.get(this.viewer.shown) ?? []; }

  start() {
    this.active = Boolean(this.viewer.slide?.mpp);
    this.from = null;
    this.pointer = null;
  }

  stop() {
    this.active = false;
    this.from = null;
  }

  /** Set a point; the second one ends a ruler. */
  point(x, y) {
    if (!this.from) {
      this.from = [x, y];
      return;
    }
    this.bySlide.set(this.viewer.shown, [...this.all, [this.from, [x, y]]]);
    this.from = null;
  }

  clear() {
    this.bySlide.delete(this.viewer.shown);
    this.from = null;
  }

  microns([from, to]) { return Math.hypot(to[0] - from[0], to[1] - from[1]) * this.viewer.slide.mpp; }

  get words() { return this.all.map((ruler) => lengthInWords(this.microns(ruler))).join(" · "); }

  draw(context, place) {
    for (const ruler of this.all) this.drawOne(context, place, ruler);
    if (!this.active) return;
    const end = this.pointer ?? this.viewer.centre();
    if (this.from) this.drawOne(context, place, [this.from, end]);
    const [x, y] = place.toStage(...end);
    for (const [width, colour] of [[4, "#ffffff"], [1.5, RULER]]) {
      context.beginPath();
      context.setLineDash([]);
      context.moveTo(x - 9, y);
      context.lineTo(x + 9, y);
      context.moveTo(x, y - 9);
      context.lineTo(x, y + 9);
      context.lineWidth = width;
      context.strokeStyle = colour;
      context.stroke();
    }
  }

  drawOne(context, place, ruler) {
    const [from, to] = ruler.map((point) => place.toStage(...point));
    const length = Math.hypot(to[0] - from[0], to[1] - from[1]) || 1;
    const tick = [-(to[1] - from[1]) / length * 6, (to[0] - from[0]) / length * 6];
    for (const [width, colour] of [[5, "#ffffff"], [2, RULER]]) {
      context.beginPath();
      context.setLineDash([]);
      context.moveTo(...from);
      context.lineTo(...to);
      for (const [x, y] of [from, to]) {
        context.moveTo(x - tick[0], y - tick[1]);
        context.lineTo(x + tick[0], y + tick[1]);
      }
      context.lineWidth = width;
      context.strokeStyle = colour;
      context.stroke();
    }
    const words = lengthInWords(this.microns(ruler));
    context.font = "600 13px system-ui, sans-serif";
    const wide = context.measureText(words).width + 10;
    const [x, y] = [(from[0] + to[0]) / 2 - wide / 2, (from[1] + to[1]) / 2 - 26];
    context.fillStyle = "rgb(255 255 255 / .92)";
    context.fillRect(x, y, wide, 20);
    context.fillStyle = RULER;
    context.fillText(words, x + 5, y + 15);
  }
}


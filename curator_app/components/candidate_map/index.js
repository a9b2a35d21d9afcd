// A point for each candidate, alike ones close together. A bin has a shape and a number, never a colour alone;
// selected ones are filled, rejected ones faint. Arrows go to the nearest neighbour, Enter or a click opens it.
const MINIMUM_HEIGHT = 420;
const MARGIN = 28;
const REACH = 14; // so many pixels beside a point still mean it
const RADIUS = 4.5;
const LABEL_ABOVE = 15;
const SHAPES = ["circle", "square", "triangle", "diamond", "down", "cross", "plus"];
const STATES = { candidate: "candidate", selected: "✓ selected", rejected: "✕ rejected" };
const DIRECTIONS = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
const states = new WeakMap();

/** Add a point's outline to a path. */
function trace(path, shape, x, y, r) {
  const corners = {
    square: [[-1, -1], [1, -1], [1, 1], [-1, 1]],
    triangle: [[0, -1.2], [1.1, .8], [-1.1, .8]],
    down: [[0, 1.2], [1.1, -.8], [-1.1, -.8]],
    diamond: [[0, -1.35], [1.35, 0], [0, 1.35], [-1.35, 0]],
    cross: [[-1.2, -.5], [-.5, -1.2], [0, -.6], [.5, -1.2], [1.2, -.5], [.6, 0], [1.2, .5], [.5, 1.2], [0, .6],
      [-.5, 1.2], [-1.2, .5], [-.6, 0]],
    plus: [[-.45, -1.3], [.45, -1.3], [.45, -.45], [1.3, -.45], [1.3, .45], [.45, .45], [.45, 1.3], [-.45, 1.3],
      [-.45, .45], [-1.3, .45], [-1.3, -.45], [-.45, -.45]],
  }[shape];
  if (!corners) {
    path.moveTo(x + r, y);
    path.arc(x, y, r, 0, 2 * Math.PI);
    return;
  }
  corners.forEach(([dx, dy], index) => path[index ? "lineTo" : "moveTo"](x + r * dx, y + r * dy));
  path.closePath();
}

class CandidateMap {
  constructor(root, setTriggerValue) {
    this.root = root;
    this.setTriggerValue = setTriggerValue;
    this.points = [];
    this.current = -1;
    this.hovered = -1;
    root.classList.add("map");
    root.innerHTML = `<div class="room" tabindex="0" role="application"
        aria-label="Map of the candidates. Arrow keys go to the nearest neighbour, Enter opens it in the grid.">
        <canvas aria-hidden="true"></canvas><div class="card" hidden><img alt=""><p></p></div></div>
      <p class="said" role="status"></p>
      <p class="legend"><span class="selected">● selected</span><span>○ candidate</span><span>shape and number: bin</span>
        <span>near means alike; far apart, distances mean little</span></p>`;
    this.room = root.querySelector(".room");
    this.canvas = root.querySelector("canvas");
    this.card = root.querySelector(".card");
    this.said = root.querySelector(".said");
    this.room.addEventListener("pointermove", (event) => this.hover(this.at(event)));
    this.room.addEventListener("pointerleave", () => this.hover(-1));
    this.room.addEventListener("click", (event) => {
      const index = this.at(event);
      if (index >= 0) { this.moveTo(index); this.open(); }
    });
    this.room.addEventListener("keydown", (event) => this.onKey(event));
    this.resized = new ResizeObserver(() => this.draw());
    this.resized.observe(this.room);
    this.unfill = fillWindow(root, MINIMUM_HEIGHT);
  }

  update(data) {
    this.data = data;
    this.points = data.points.map(([id, x, y, bin, state, slide, left, top, side, flags]) =>
      ({ id, x, y, bin, flags, box: { id, slide, x: left, y: top, side, state } }));
    const bins = new Map();
    for (const point of this.points) {
      if (!bins.has(point.bin)) bins.set(point.bin, []);
      bins.get(point.bin).push(point);
    }
    // A bin's number stands above the point nearest to its middle, so that it lies where the bin has points.
    this.labels = [...bins].map(([bin, points]) => {
      const middle = { x: points.reduce((sum, p) => sum + p.x, 0) / points.length,
        y: points.reduce((sum, p) => sum + p.y, 0) / points.length };
      const far = (p) => (p.x - middle.x) ** 2 + (p.y - middle.y) ** 2;
      return { bin, ...points.reduce((best, p) => (far(p) < far(best) ? p : best)) };
    });
    const at = this.points.findIndex((point) => point.id === (this.points[this.current]?.id ?? data.current));
    this.current = at < 0 ? this.points.findIndex((point) => point.id === data.current) : at;
    if (data.current !== this.asked) {
      this.asked = data.current;
      this.current = this.points.findIndex((point) => point.id === data.current);
    }
    this.draw();
  }

  get size() { return { width: this.room.clientWidth, height: this.room.clientHeight }; }

  place({ x, y }) {
    const { width, height } = this.size;
    return [MARGIN + x * (width - 2 * MARGIN), MARGIN + y * (height - 2 * MARGIN)];
  }

  at(event) {
    const { left, top } = this.room.getBoundingClientRect();
    const [x, y] = [event.clientX - left, event.clientY - top];
    let best = -1;
    let nearest = REACH ** 2;
    this.points.forEach((point, index) => {
      const [px, py] = this.place(point);
      const gap = (px - x) ** 2 + (py - y) ** 2;
      if (gap < nearest) { nearest = gap; best = index; }
    });
    return best;
  }

  hover(index) {
    if (index === this.hovered) return;
    this.hovered = index;
    this.room.style.cursor = index >= 0 ? "pointer" : "";
    this.showCard(index >= 0 ? index : this.room.matches(":focus") ? this.current : -1);
  }

  words(point) {
    const parts = [`bin ${point.bin}`, STATES[point.box.state] ?? point.box.state, this.data.slides[point.box.slide]];
    return [...parts, point.flags].filter(Boolean).join(" · ");
  }

  showCard(index) {
    const point = this.points[index];
    this.card.hidden = !point;
    if (!point) return;
    const [x, y] = this.place(point);
    const { width, height } = this.size;
    const url = `/api/rois/${point.id}/thumbnail`;
    const image = this.card.querySelector("img");
    if (image.getAttribute("src") !== url) image.src = url;
    this.card.querySelector("p").textContent = this.words(point);
    this.card.style.left = `${Math.max(4, x + 14 + this.card.offsetWidth > width ? x - 14 - this.card.offsetWidth : x + 14)}px`;
    this.card.style.top = `${Math.max(4, Math.min(y - 20, height - this.card.offsetHeight - 4))}px`;
  }

  moveTo(index) {
    const point = this.points[index];
    if (!point) return;
    this.current = index;
    this.said.textContent = `${this.words(point)} · ⏎ opens it in the grid`;
    const detail = { viewer: this.data.viewer, slide: point.box.slide, box: point.box };
    window.dispatchEvent(new CustomEvent("histocurator:show", { detail }));
    this.showCard(index);
    this.draw();
  }

  open() {
    const point = this.points[this.current];
    if (point) this.setTriggerValue("opened", point.id);
  }

  /** The nearest point in a direction: within 45 degrees of it, else the nearest on that side. */
  neighbour([dx, dy]) {
    if (this.current < 0) return 0;
    const [x, y] = this.place(this.points[this.current]);
    let best = -1;
    let least = Infinity;
    this.points.forEach((point, index) => {
      if (index === this.current) return;
      const [px, py] = this.place(point);
      const along = (px - x) * dx + (py - y) * dy;
      if (along <= 0) return;
      const aside = Math.abs((px - x) * dy) + Math.abs((py - y) * dx);
      const cost = Math.hypot(along, aside) + (aside > along ? 2 * aside : 0);
      if (cost < least) { least = cost; best = index; }
    });
    return best;
  }

  onKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Enter") this.open();
    else if (DIRECTIONS[event.key]) this.moveTo(this.neighbour(DIRECTIONS[event.key]));
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  draw() {
    const { width, height } = this.size;
    if (!width || !height) return;
    const ratio = window.devicePixelRatio || 1;
    if (this.canvas.width !== Math.round(width * ratio)) this.canvas.width = Math.round(width * ratio);
    if (this.canvas.height !== Math.round(height * ratio)) this.canvas.height = Math.round(height * ratio);
    const context = this.canvas.getContext("2d");
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    const style = getComputedStyle(this.root);
    const ink = style.color;
    const ground = style.getPropertyValue("--st-background-color").trim() || "#fff";
    // One path for all points of a kind: thousands are drawn in a few calls.
    const kinds = { rejected: new Path2D(), candidate: new Path2D(), selected: new Path2D() };
    for (const point of this.points) {
      const [x, y] = this.place(point);
      const selected = point.box.state === "selected";
      trace(kinds[point.box.state] ?? kinds.candidate, SHAPES[(point.bin - 1) % SHAPES.length], x, y,
        selected ? RADIUS + 2 : RADIUS);
    }
    context.strokeStyle = ink;
    context.lineWidth = 1;
    context.globalAlpha = .22;
    context.stroke(kinds.rejected);
    context.globalAlpha = .6;
    context.stroke(kinds.candidate);
    context.globalAlpha = 1;
    context.fillStyle = "#17807E";
    context.fill(kinds.selected);
    context.strokeStyle = ground;
    context.lineWidth = 1.5;
    context.stroke(kinds.selected);
    this.drawLabels(context, ink, ground, style.fontFamily);
    const point = this.points[this.current];
    if (!point) return;
    const [x, y] = this.place(point);
    context.strokeStyle = ground;
    context.lineWidth = 6;
    context.strokeRect(x - 11, y - 11, 22, 22);
    context.strokeStyle = ink;
    context.lineWidth = 2.5;
    context.strokeRect(x - 11, y - 11, 22, 22);
  }

  drawLabels(context, ink, ground, family) {
    context.font = `600 13px ${family}`;
    context.textAlign = "center";
    context.textBaseline = "middle";
    for (const label of this.labels) {
      const [x, middle] = this.place(label);
      const y = middle - LABEL_ABOVE;
      context.lineWidth = 5;
      context.strokeStyle = ground;
      context.strokeText(label.bin, x, y);
      context.fillStyle = ink;
      context.fillText(label.bin, x, y);
    }
  }

  close() {
    this.resized.disconnect();
    this.unfill();
  }
}

export default function ({ data, parentElement, setTriggerValue }) {
  let map = states.get(parentElement);
  if (!map) {
    map = new CandidateMap(parentElement.querySelector(".root"), setTriggerValue);
    states.set(parentElement, map);
    requestAnimationFrame(() => map.room.focus({ preventScroll: true }));
  }
  map.setTriggerValue = setTriggerValue;
  map.update(data);
  return () => {
    map.close();
    states.delete(parentElement);
  };
}

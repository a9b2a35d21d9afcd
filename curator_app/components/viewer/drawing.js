// Part of the viewer: a frame that a person places on the slide and saves as an ROI. The frame is the exact field: its
// side in pixels at its magnification. It is moved, never stretched, so that nothing is rescaled when it is read.
const FIELD = "#C2410C";
const STEP_PX = 10;
const KEPT = "histocurator field ";
const fieldsUnderWay = new Map(); // by act: a frame that the server has not answered for, and what is to be said of it

function sayOfField(act, words) {
  const field = fieldsUnderWay.get(act);
  if (!field) return;
  field.words = words;
  window.dispatchEvent(new CustomEvent("histocurator:field", { detail: {} }));
}

/** Send a field until the server answers, also when this page was left or opened anew meanwhile. */
async function sendField(field) {
  const { body } = field;
  if (fieldsUnderWay.has(body.act)) return;
  fieldsUnderWay.set(body.act, field);
  const key = `${KEPT}${body.account} ${body.act}`;
  try { localStorage.setItem(key, JSON.stringify(field)); } catch { /* this browser keeps nothing for this site */ }
  sayOfField(body.act, "");
  const { status, said } = await askUntilAnswered("/api/rois", JSON.stringify(body), (words) => sayOfField(body.act, words));
  try { localStorage.removeItem(key); } catch { /* as above */ }
  fieldsUnderWay.delete(body.act);
  const refused = status >= 400 ? [said.error, ...(said.problems ?? [])].join(" ") : null;
  window.dispatchEvent(new CustomEvent("histocurator:field", { detail: { field, said, refused } }));
}

/** Send what an account drew before the page was opened and nobody has answered yet. */
function sendFieldsLeft(account) {
  let keys = [];
  try { keys = Object.keys(localStorage).filter((key) => key.startsWith(`${KEPT}${account} `)); } catch { return; }
  for (const key of keys) sendField(JSON.parse(localStorage.getItem(key)));
}

class Drawing {
  constructor(viewer) {
    this.viewer = viewer;
    this.active = false;
    this.centre = [0, 0];
    this.magnification = 20;
    this.size = 1024;
    this.refused = "";
  }

  get slide() { return this.viewer.slide; }

  sideOf(magnification, size) { return size * MICRONS_AT_1X / magnification / this.slide.mpp; }

  get side() { return this.sideOf(this.magnification, this.size); }

  fits(magnification, size) {
    return this.sideOf(magnification, size) <= Math.min(this.slide.width, this.slide.height) + 0.5;
  }

  start() {
    if (!this.slide?.mpp || !this.slide.magnifications.length) return;
    if (!this.slide.magnifications.includes(this.magnification)) this.magnification = this.slide.magnifications.at(-1);
    if (!this.fits(this.magnification, this.size)) {
      const fitting = this.viewer.data.sizes.filter((size) => this.fits(this.magnification, size));
      this.size = Math.max(...fitting, Math.min(...this.viewer.data.sizes));
    }
    this.active = true;
    this.refused = "";
    this.moveTo(...this.viewer.centre());
  }

  stop() { this.active = false; }

  /** Put the frame's centre somewhere; the frame stays on the slide. */
  moveTo(x, y) {
    const half = this.side / 2;
    const within = (value, most) => Math.min(Math.max(value, half), Math.max(most - half, half));
    this.centre = [within(x, this.slide.width), within(y, this.slide.height)];
  }

  moveBy(dx, dy) { this.moveTo(this.centre[0] + dx, this.centre[1] + dy); }

  /** The frame's corner in whole level-0 pixels, as it will be stored. */
  get corner() {
    return this.centre.map((value, axis) => {
      const most = Math.floor((axis ? this.slide.height : this.slide.width) - this.side + 0.5);
      return Math.max(0, Math.min(most, Math.round(value - this.side / 2)));
    });
  }

  holds(x, y) {
    const [left, top] = this.corner;
    return x >= left && y >= top && x <= left + this.side && y <= top + this.side;
  }

  choose(magnification, size) {
    this.magnification = magnification;
    this.size = size;
    this.moveTo(...this.centre);
  }

  save() {
    const [x, y] = this.corner;
    const { account } = this.viewer.data;
    this.stop();
    sendField({ side: this.side, words: "", body: { account, act: newAct(), slide: this.slide.id, x, y, size: this.size,
      magnification: this.magnification } });
  }

  /** The server refused a field: it is there again, to be moved. */
  takeBack({ body }, words) {
    this.start();
    this.choose(body.magnification, body.size);
    this.moveTo(body.x + this.side / 2, body.y + this.side / 2);
    this.refused = words;
  }

  draw(context, place) {
    for (const { body, side } of fieldsUnderWay.values()) {
      if (body.slide === this.slide?.id) outline(context, place.corners(body.x, body.y, side), FIELD, [2, 4]);
    }
    if (this.active) outline(context, place.corners(...this.corner, this.side), FIELD);
  }

  /** Take a key; says whether it was one of the frame's. */
  key(event, place) {
    const arrows = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    if (event.key === "Escape") this.stop();
    else if (event.key === "Enter") this.save();
    else if (event.key in arrows) {
      const step = event.shiftKey ? 1 : STEP_PX;
      this.moveBy(...place.turned(...arrows[event.key].map((part) => part * step)));
    } else return false;
    return true;
  }
}


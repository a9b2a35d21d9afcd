// A slide, or a ROI's image, in OpenSeadragon: scale bar, magnification, overview, rotation, and what is drawn over it.
const SCRIPT = "/vendor/openseadragon.min.js";
const MINIMUM_HEIGHT = 320;
const TILE_SIZE = 254;
const OVERLAP = 1;
const MICRONS_AT_1X = 10; // 20x is 0.5 µm per pixel
const states = new WeakMap();
let library = null;

function loadLibrary() {
  if (window.OpenSeadragon) return Promise.resolve(window.OpenSeadragon);
  library ??= new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = SCRIPT;
    script.onload = () => resolve(window.OpenSeadragon);
    script.onerror = () => {
      library = null;
      reject(new Error("The slide viewer's script is missing: run 'make viewer' and reload the page."));
    };
    document.head.append(script);
  });
  return library;
}

class Viewer {
  constructor(root) {
    this.root = root;
    root.classList.add("viewer");
    root.innerHTML = `<div class="tools" role="toolbar" aria-label="Viewer"></div>
      <div class="room"><div class="stage"><div class="osd"></div><canvas class="frames" aria-hidden="true"></canvas>
        <div class="legend"></div><div class="scale" hidden><span></span><div></div></div>
        <div class="message" role="status"></div></div></div>
      <div class="line of-slide"></div>`;
    this.tools = root.querySelector(".tools");
    this.stage = root.querySelector(".osd");
    this.canvas = root.querySelector(".frames");
    this.scale = root.querySelector(".scale");
    this.legend = root.querySelector(".legend");
    this.message = root.querySelector(".message");
    this.touched = false; // the person moved the view: it stays theirs when the window changes
    this.shown = null; // what is open: a slide's id or an image's URL
    this.view = null; // what the page asked for last
    this.said = ""; // what came of the last act
    this.around = ""; // what the chosen ROI holds and lies within
    this.frames = new Frames();
    this.tissue = new Tissue(() => this.refresh());
    this.drawing = new Drawing(this);
    this.rulers = new Rulers(this);
    this.line = new Line(this, root.querySelector(".line"));
    Object.assign(this, buildToolbar(this));
    this.listeners = {
      "histocurator:show": ({ detail }) => {
        if (detail.viewer === this.data?.name) this.go(detail.slide, detail.box);
      },
      "histocurator:field": ({ detail }) => this.fieldSaid(detail),
    };
    for (const [name, listener] of Object.entries(this.listeners)) window.addEventListener(name, listener);
    this.keys = new Keys(this);
    this.resized = new ResizeObserver(() => this.draw());
    this.resized.observe(root);
    this.unfill = fillWindow(root, MINIMUM_HEIGHT, () => this.data?.above ?? null);
  }

  /** The slide that is open, null for an image. */
  get slide() { return this.data?.mode === "slide" ? this.data.slides[this.shown] ?? null : null; }

  get isOpen() { return Boolean(this.osd?.world.getItemCount()); }

  toggleTissue() {
    this.tissue.shown = !this.tissue.shown;
    this.tissueBox.checked = this.tissue.shown;
    if (this.slide) this.tissue.load(this.slide.id);
    this.refresh();
  }

  update(data) {
    const before = this.data;
    this.data = data;
    this.root.dataset.mode = data.mode;
    this.newField.hidden = !data.draws;
    if (data.draws && before?.account !== data.account) sendFieldsLeft(data.account);
    this.name();
    const view = data.mode === "image" ? data.url : `${data.slide}/${data.focus?.id ?? ""}`;
    if (view !== this.view) {
      this.view = view;
      data.mode === "image" ? this.openImage() : this.go(data.slide, data.focus);
    } else {
      if (this.slide) this.loadFrames();
      this.refresh();
    }
  }

  async loadFrames() {
    await this.frames.load(this.shown);
    this.refresh();
  }

  async ready() {
    if (this.osd) return this.osd;
    this.creating ??= loadLibrary().then((OpenSeadragon) => {
      this.osd = new OpenSeadragon.Viewer({
        element: this.stage,
        drawer: "canvas",
        showNavigationControl: false,
        showNavigator: this.data.mode === "slide",
        navigatorPosition: "TOP_RIGHT",
        navigatorSizeRatio: 0.16,
        navigatorBackground: "#ffffff",
        navigatorDisplayRegionColor: ACCENT,
        maxZoomPixelRatio: 4,
        minZoomImageRatio: 0.8,
        visibilityRatio: 0.3,
        animationTime: 0.25,
        gestureSettingsMouse: { clickToZoom: false, dblClickToZoom: true },
        placeholderFillStyle: "#ffffff",
      });
      this.osd.addHandler("update-viewport", () => this.draw());
      this.osd.addHandler("open", () => this.opened());
      for (const move of ["canvas-drag", "canvas-scroll", "canvas-double-click", "canvas-key", "navigator-click"]) {
        this.osd.addHandler(move, () => { this.touched = true; });
      }
      for (const act of ["canvas-press", "canvas-drag", "canvas-drag-end", "canvas-click", "canvas-double-click"]) {
        this.osd.addHandler(act, (event) => this.pointed(act, event));
      }
      this.osd.addHandler("resize", () => requestAnimationFrame(() => this.touched || this.fit()));
      this.osd.addHandler("open-failed", () => this.ask(this.data.url));
      this.osd.addHandler("tile-load-failed", (event) => this.message.textContent || this.ask(event.tile.getUrl()));
      this.pointers = new OpenSeadragon.MouseTracker({
        element: this.stage,
        moveHandler: ({ position }) => this.hovered(position),
      });
      this.name();
      // OpenSeadragon would rotate and flip on r and f, which are the page's keys.
      this.osd.addHandler("canvas-key", (event) => {
        if ("rRfF".includes(event.originalEvent.key)) event.preventDefaultAction = true;
      });
      return this.osd;
    });
    return this.creating;
  }

  say(text) { this.message.textContent = text; }

  /** What takes the keyboard carries the name: arrows pan, + and − zoom. */
  name() {
    const { mode, description, slides, slide } = this.data;
    const what = mode === "image" ? description : `Slide ${slides[this.shown ?? slide]?.name ?? ""}`;
    this.osd?.canvas.setAttribute("role", "application");
    this.osd?.canvas.setAttribute("aria-label", `${what}. Arrow keys move, plus and minus zoom.`);
  }

  /** Say in the server's words why something could not be shown. */
  async explain(answer) {
    const unknown = "The image cannot be shown: its file could not be read.";
    this.say(unknown);
    const words = answer?.ok === false ? (await answer.json().catch(() => null))?.error : null;
    this.say(answer?.ok ? "" : words ?? unknown);
  }

  async ask(url) { await this.explain(await fetch(url).catch(() => null)); }

  async openImage() {
    try {
      const osd = await this.ready();
      this.box = null;
      this.shown = this.data.url;
      osd.open({ type: "image", url: this.data.url, buildPyramid: false });
      for (const url of this.data.preload) new Image().src = url;
    } catch (error) { this.say(error.message); }
  }

  async go(slideId, box) {
    const slide = this.data.slides[slideId];
    if (!slide) return;
    try {
      const osd = await this.ready();
      this.box = box ?? null;
      if (this.shown === slideId && osd.world.getItemCount()) {
        this.fit();
        this.loadFrames();
        return;
      }
      this.end();
      this.shown = slideId;
      this.name();
      this.tissue.load(slideId);
      this.loadFrames();
      // A slide whose file is gone is said once, instead of once for each of its tiles.
      const there = await fetch(`/api/slides/${slideId}/deepzoom.dzi`, { cache: "no-store" }).catch(() => null);
      if (this.shown !== slideId) return;
      if (!there?.ok) {
        osd.close();
        this.canvas.width = 0;
        this.scale.hidden = true;
        delete this.root.dataset.open;
        await this.explain(there);
        return;
      }
      osd.open({ Image: { xmlns: "http://schemas.microsoft.com/deepzoom/2008", Url: slide.tiles, Format: "jpeg",
        Overlap: String(OVERLAP), TileSize: String(TILE_SIZE),
        Size: { Width: String(slide.width), Height: String(slide.height) } } });
    } catch (error) { this.say(error.message); }
  }

  opened() {
    this.say("");
    this.root.dataset.open = this.shown;
    const { x: width, y: height } = this.osd.world.getItemAt(0).getContentSize();
    this.root.style.setProperty("--aspect", width / height);
    this.osd.viewport.setRotation(0, true);
    this.fit();
    this.refresh();
  }

  fit() {
    this.touched = false;
    if (!this.osd.world.getItemCount()) return;
    if (this.box) {
      const { x, y, side } = this.box;
      const margin = side * (this.data.context - 1) / 2;
      const image = this.osd.world.getItemAt(0);
      const area = image.imageToViewportRectangle(x - margin, y - margin, side + 2 * margin, side + 2 * margin);
      this.osd.viewport.fitBounds(area, true);
    } else {
      this.osd.viewport.goHome(true);
    }
    this.draw();
  }

  /** Micrometres per pixel of what is open, or null where nobody knows. */
  get mpp() { return this.data.mode === "image" ? this.data.mpp : this.data.slides[this.shown]?.mpp ?? null; }

  get imageZoom() {
    const image = this.osd?.world.getItemAt(0);
    return image ? image.viewportToImageZoom(this.osd.viewport.getZoom(true)) : null;
  }

  zoomBy(factor) {
    if (!this.osd?.world.getItemCount()) return;
    this.touched = true;
    this.osd.viewport.zoomBy(factor);
    this.osd.viewport.applyConstraints();
  }

  magnify(factor) {
    const image = this.osd?.world.getItemAt(0);
    if (!image || !this.mpp) return;
    this.touched = true;
    this.osd.viewport.zoomTo(image.imageToViewportZoom(this.mpp * factor / MICRONS_AT_1X), null, true);
  }

  /** Turn the view by degrees; null turns it upright. */
  turn(degrees) {
    if (!this.isOpen) return;
    this.touched = true;
    const now = this.osd.viewport.getRotation();
    this.osd.viewport.setRotation(degrees === null ? 0 : (now + degrees + 360) % 360, true);
    this.draw();
  }

  /** The place on the slide that is in the middle of the stage. */
  centre() {
    const { width, height } = this.canvas.getBoundingClientRect();
    return new Place(this.osd).toSlide(width / 2, height / 2);
  }

  /** Draw everything anew, words too. */
  refresh() {
    this.drawLegend();
    this.newField.setAttribute("aria-pressed", this.drawing.active);
    this.ruler.setAttribute("aria-pressed", this.rulers.active);
    this.line.draw();
    this.draw();
  }

  draw() {
    const zoom = this.imageZoom;
    if (!zoom) return;
    this.drawScale(zoom);
    this.drawOver();
  }

  drawLegend() {
    if (this.data.mode === "image") {
      this.legend.replaceChildren(...Object.entries(this.data.facts).map(([name, value]) => {
        const fact = document.createElement("span");
        fact.textContent = `${name} ${value}`.trim();
        return fact;
      }));
      return;
    }
    const there = Object.entries(LAYERS).filter(([state]) => this.frames.shown.has(state) && this.frames.count(state));
    this.legend.innerHTML = there.map(([state, layer]) =>
      `<span>${swatch(layer)}${layer.words} ${this.frames.count(state).toLocaleString("en")}</span>`).join("") +
      (this.tissue.shown && this.tissue.picture ? `<span>${TISSUE}Tissue</span>` : "");
  }

  drawScale(zoom) {
    const mpp = this.mpp;
    this.scale.hidden = !mpp;
    for (const element of this.magnifications) {
      element.disabled = !mpp || mpp * element.dataset.factor / MICRONS_AT_1X > 4;
    }
    if (!mpp) {
      this.now.textContent = "resolution unknown";
      return;
    }
    const micronsPerPixel = mpp / zoom;
    const power = 10 ** Math.floor(Math.log10(120 * micronsPerPixel));
    const length = [5, 2, 1].map((step) => step * power).find((value) => value / micronsPerPixel <= 120);
    this.scale.querySelector("div").style.width = `${length / micronsPerPixel}px`;
    this.scale.querySelector("span").textContent = length >= 1000 ? `${length / 1000} mm` : `${length} µm`;
    const factor = MICRONS_AT_1X / micronsPerPixel;
    this.now.textContent = `${factor < 10 ? factor.toFixed(1) : Math.round(factor)}×`;
    const angle = Math.round(this.osd.viewport.getRotation()) % 360;
    this.upright.textContent = `${angle}°`;
    this.upright.disabled = angle === 0;
    for (const element of this.magnifications) {
      element.setAttribute("aria-pressed", Math.abs(factor / element.dataset.factor - 1) < 0.02);
    }
  }

  drawOver() {
    const { width, height } = this.canvas.getBoundingClientRect();
    const ratio = window.devicePixelRatio || 1;
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
    if (!this.slide) return;
    const place = new Place(this.osd);
    const context = this.canvas.getContext("2d");
    context.scale(ratio, ratio);
    this.tissue.draw(context, place);
    this.canvas.dataset.drawn = this.frames.draw(context, place, width, height, this.box?.id ?? this.frames.chosen);
    const marked = this.box?.slide === this.shown ? this.box : null;
    if (marked) outline(context, place.corners(marked.x, marked.y, marked.side), INK);
    const chosen = this.frames.chosenFrame;
    if (chosen && chosen.id !== marked?.id) outline(context, place.corners(chosen.x, chosen.y, chosen.side), ACCENT);
    this.drawing.draw(context, place);
    this.rulers.draw(context, place);
  }

  /** Choose a frame, or none; what it holds is asked of the server. */
  async choose(frame) {
    this.frames.chosen = frame?.id ?? null;
    this.around = "";
    this.said = "";
    this.refresh();
    if (!frame) return;
    const answer = await fetch(`/api/rois/${frame.id}/around`).catch(() => null);
    if (!answer?.ok || this.frames.chosen !== frame.id) return;
    const { holds, within } = await answer.json();
    const said = (word, powers) =>
      Object.entries(powers).map(([power, number]) => `${counted(number, word)} of ${power.replace("x", "×")}`);
    const listed = ({ selected = {}, candidate = {} }) => [...said("ROI", selected), ...said("candidate", candidate)];
    const parts = [["holds", listed(holds)], ["within", listed(within)]].filter(([, several]) => several.length);
    this.around = parts.map(([verb, several]) => `${verb} ${several.join(", ")}`).join(" · ");
    this.refresh();
  }

  async takeBack(frame) {
    this.said = "Taking back…";
    this.refresh();
    const body = JSON.stringify({ account: this.data.account, act: newAct(), version: frame.version });
    const { status, said } = await askUntilAnswered(`/api/rois/${frame.id}/withdrawal`, body, (words) => {
      this.said = words;
      this.refresh();
    });
    await this.frames.load(this.shown);
    if (status < 400) this.frames.chosen = null;
    this.said = status < 400 ? `Taken back at ${said.at}.` : `▲ Not taken back: ${said.error}`;
    this.refresh();
  }

  save() {
    this.said = "";
    this.drawing.save();
    this.refresh();
  }

  /** A field's save goes on, has been made, or was refused. */
  async fieldSaid({ field, said, refused }) {
    if (!field || field.body.slide !== this.shown) {
      this.refresh();
    } else if (refused) {
      if (this.drawing.active) this.said = `▲ Not saved: ${refused}`;
      else this.drawing.takeBack(field, refused);
      this.refresh();
    } else {
      await this.frames.load(this.shown);
      await this.choose(this.frames.all.find((frame) => frame.id === said.roi));
      this.said = `Saved at ${said.at}`;
      this.refresh();
    }
  }

  startDrawing() {
    if (!this.isOpen || !this.data.draws) return;
    this.end();
    this.drawing.start();
    this.osd.canvas.focus();
    this.refresh();
  }

  startMeasuring() {
    if (!this.isOpen) return;
    this.end();
    this.rulers.start();
    this.osd.canvas.focus();
    this.refresh();
  }

  /** Put the tool in hand away. */
  end() {
    this.drawing.stop();
    this.rulers.stop();
    if (this.data) this.refresh();
  }

  /** What a click or drag on the slide means with the tool in hand; else it moves the slide. */
  pointed(act, event) {
    if (!this.slide || !this.isOpen) return;
    const place = new Place(this.osd);
    const at = place.toSlide(event.position.x, event.position.y);
    const { drawing, rulers } = this;
    if (act === "canvas-press") {
      this.carries = drawing.active && drawing.holds(...at);
    } else if (act === "canvas-drag" || act === "canvas-drag-end") {
      if (!this.carries) return;
      event.preventDefaultAction = true;
      if (act === "canvas-drag") drawing.moveBy(...place.turned(event.delta.x, event.delta.y));
    } else if (act === "canvas-double-click") {
      if (drawing.active || rulers.active) event.preventDefaultAction = true;
      return;
    } else if (event.quick) {
      if (drawing.active) drawing.moveTo(...at);
      else if (rulers.active) rulers.point(...at);
      else {
        this.choose(this.frames.at(...at));
        return;
      }
    }
    this.refresh();
  }

  hovered(position) {
    if (!this.rulers.active) return;
    this.rulers.pointer = new Place(this.osd).toSlide(position.x, position.y);
    this.draw();
  }

  close() {
    this.shown = null;
    for (const [name, listener] of Object.entries(this.listeners)) window.removeEventListener(name, listener);
    this.keys.close();
    this.resized.disconnect();
    this.unfill();
    this.pointers?.destroy();
    this.osd?.destroy();
  }
}

export default function ({ data, parentElement }) {
  let viewer = states.get(parentElement);
  if (!viewer) {
    viewer = new Viewer(parentElement.querySelector(".root"));
    states.set(parentElement, viewer);
  }
  viewer.update(data);
  return () => {
    viewer.close();
    states.delete(parentElement);
  };
}

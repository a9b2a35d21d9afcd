// A slide, or a ROI's image, in OpenSeadragon: scale bar, magnification, overview and frames of ROIs.
const SCRIPT = "/vendor/openseadragon.min.js";
const MINIMUM_HEIGHT = 320;
const TILE_SIZE = 254;
const OVERLAP = 1;
const MAGNIFICATIONS = [2.5, 5, 10, 20, 40];
const MICRONS_AT_1X = 10; // 20x is 0.5 µm per pixel
const ACCENT = "#0B6B6B";
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

function button(words, label, action) {
  const element = document.createElement("button");
  element.type = "button";
  element.textContent = words;
  element.setAttribute("aria-label", label);
  element.title = label;
  element.onclick = action;
  return element;
}

const LEGEND = {
  selected: ["Selected", '<rect x="2" y="2" width="10" height="10" fill="none" stroke="#0B6B6B" stroke-width="3"/>'],
  candidate: ["Candidate", '<rect x="2" y="2" width="10" height="10" fill="none" stroke="#1B2126" stroke-dasharray="3 2"/>'],
};

const FULL_SCREEN = '<svg viewBox="0 0 14 14" fill="none" stroke="currentColor" stroke-width="2" aria-hidden="true">' +
  '<path d="M1 5V1h4M9 1h4v4M13 9v4H9M5 13H1V9"/></svg>';

class Viewer {
  constructor(root) {
    this.root = root;
    root.classList.add("viewer");
    root.innerHTML = `<div class="tools" role="toolbar" aria-label="Zoom"></div>
      <div class="room"><div class="stage"><div class="osd"></div><canvas class="frames" aria-hidden="true"></canvas>
        <div class="legend"></div><div class="scale" hidden><span></span><div></div></div>
        <div class="message" role="status"></div></div></div>`;
    this.tools = root.querySelector(".tools");
    this.stage = root.querySelector(".osd");
    this.canvas = root.querySelector(".frames");
    this.scale = root.querySelector(".scale");
    this.legend = root.querySelector(".legend");
    this.message = root.querySelector(".message");
    this.now = document.createElement("span");
    this.now.className = "now small";
    this.touched = false; // the person moved the view: it stays theirs when the window changes
    this.shown = null; // what is open: a slide's id or an image's URL
    this.view = null; // what the page asked for last
    this.buildTools();
    this.listener = (event) => {
      const { viewer, slide, box } = event.detail;
      if (viewer === this.data?.name) this.go(slide, box);
    };
    window.addEventListener("histocurator:show", this.listener);
    this.resized = new ResizeObserver(() => this.draw());
    this.resized.observe(root);
    this.unfill = fillWindow(root, MINIMUM_HEIGHT, () => this.data?.above ?? null);
  }

  buildTools() {
    this.magnifications = MAGNIFICATIONS.map((factor) => {
      const element = button(`${factor}×`, `Magnification ${factor} times`, () => this.magnify(factor));
      element.dataset.factor = factor;
      return element;
    });
    this.full = button("", "Full screen", () =>
      document.fullscreenElement ? document.exitFullscreen() : this.root.requestFullscreen());
    this.full.innerHTML = FULL_SCREEN;
    this.tools.append(
      button("Whole", "Show the whole image", () => {
        this.touched = true;
        this.osd?.viewport.goHome(true);
      }),
      button("−", "Zoom out", () => this.zoomBy(1 / 1.5)),
      button("+", "Zoom in", () => this.zoomBy(1.5)),
      ...this.magnifications,
      this.full,
      this.now,
    );
  }

  update(data) {
    this.data = data;
    this.root.dataset.mode = data.mode;
    const kinds = data.mode === "slide" ? [...new Set(data.boxes.map((box) => box.state))] : [];
    this.legend.innerHTML = kinds.filter((kind) => LEGEND[kind])
      .map((kind) => `<span><svg viewBox="0 0 14 14">${LEGEND[kind][1]}</svg>${LEGEND[kind][0]}</span>`).join("");
    if (data.mode === "image") {
      for (const [name, value] of Object.entries(data.facts)) {
        const fact = document.createElement("span");
        fact.textContent = `${name} ${value}`.trim();
        this.legend.append(fact);
      }
    }
    this.name();
    const view = data.mode === "image" ? data.url : `${data.slide}/${data.focus?.id ?? ""}`;
    if (view !== this.view) {
      this.view = view;
      data.mode === "image" ? this.openImage() : this.go(data.slide, data.focus);
    } else {
      this.draw();
    }
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
      this.osd.addHandler("resize", () => requestAnimationFrame(() => this.touched || this.fit()));
      this.osd.addHandler("open-failed", () => this.ask(this.data.url));
      this.osd.addHandler("tile-load-failed", (event) => this.message.textContent || this.ask(event.tile.getUrl()));
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
        return;
      }
      this.shown = slideId;
      this.name();
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
    this.fit();
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

  draw() {
    const zoom = this.imageZoom;
    if (!zoom) return;
    this.drawScale(zoom);
    this.drawFrames();
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
    for (const element of this.magnifications) {
      element.setAttribute("aria-pressed", Math.abs(factor / element.dataset.factor - 1) < 0.02);
    }
  }

  drawFrames() {
    const { width, height } = this.canvas.getBoundingClientRect();
    const ratio = window.devicePixelRatio || 1;
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
    if (this.data.mode !== "slide") return;
    const image = this.osd.world.getItemAt(0);
    const Point = window.OpenSeadragon.Point;
    const origin = image.imageToViewerElementCoordinates(new Point(0, 0));
    const span = image.imageToViewerElementCoordinates(new Point(10000, 0)).x - origin.x;
    const factor = span / 10000;
    const context = this.canvas.getContext("2d");
    context.scale(ratio, ratio);
    const frame = (box, width_, colour, dash) => {
      context.setLineDash(dash);
      context.lineWidth = width_;
      context.strokeStyle = colour;
      context.strokeRect(origin.x + box.x * factor, origin.y + box.y * factor, box.side * factor, box.side * factor);
    };
    for (const box of this.data.boxes) {
      if (box.slide !== this.shown || box.id === this.box?.id) continue;
      box.state === "selected" ? frame(box, 3, ACCENT, []) : frame(box, 1, "#1B2126", [4, 3]);
    }
    if (this.box) {
      frame(this.box, 6, "#ffffff", []);
      frame(this.box, 3, "#1B2126", []);
    }
  }

  close() {
    this.shown = null;
    window.removeEventListener("histocurator:show", this.listener);
    this.resized.disconnect();
    this.unfill();
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

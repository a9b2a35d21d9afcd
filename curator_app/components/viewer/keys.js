// Part of the viewer: its keys.
const SMALL_TURN = 15;

function isTypingIn(element) {
  if (!element) return false;
  if (element.isContentEditable || element.tagName === "TEXTAREA") return true;
  return element.tagName === "INPUT" && !["radio", "checkbox", "button"].includes(element.type);
}

class Keys {
  constructor(viewer) {
    this.viewer = viewer;
    this.listener = (event) => this.taken(event);
    window.addEventListener("keydown", this.listener, true);
  }

  /** Keys of the slide: of the whole page where it says so, else of the viewer while it has the keyboard. */
  taken(event) {
    const { viewer } = this;
    if (!viewer.slide || !viewer.isOpen || event.defaultPrevented || event.isComposing) return;
    const path = event.composedPath();
    const own = path.includes(viewer.root);
    const isFree = event.getModifierState("AltGraph") || !(event.ctrlKey || event.metaKey || event.altKey);
    if (!isFree || !(own || viewer.data.keys) || isTypingIn(path[0])) return;
    if (!own && (document.querySelector("[role=dialog]") || path.some(({ tagName }) => tagName === "DIALOG"))) return;
    if (!this.ofTool(event, own) && !this.ofView(event)) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    viewer.refresh();
  }

  ofTool(event, own) {
    const pressed = event.composedPath()[0]?.tagName;
    const { drawing, rulers } = this.viewer;
    // What has the keyboard keeps its own keys: a button its Enter, a list its arrows.
    if (event.key === "Enter" && ["BUTTON", "SUMMARY", "A"].includes(pressed)) return false;
    if (event.key.startsWith("Arrow") && (["SELECT", "INPUT"].includes(pressed) || !own)) return false;
    if (drawing.active) {
      if (event.key === "Enter") {
        this.viewer.save();
        return true;
      }
      return drawing.key(event, new Place(this.viewer.osd));
    }
    if (!rulers.active) return false;
    if (event.key === "Escape") rulers.stop();
    else if (event.key === "Enter") rulers.point(...(rulers.pointer ?? this.viewer.centre()));
    else {
      if (event.key.startsWith("Arrow")) rulers.pointer = null; // the cross is in the middle again
      return false;
    }
    return true;
  }

  ofView(event) {
    const { viewer } = this;
    const acts = {
      ...(viewer.data.draws && { n: () => viewer.startDrawing() }), // elsewhere the page may have this key
      m: () => viewer.rulers.active ? viewer.end() : viewer.startMeasuring(),
      t: () => viewer.toggleTissue(),
      "[": () => viewer.turn(-SMALL_TURN),
      "]": () => viewer.turn(SMALL_TURN),
      "{": () => viewer.turn(-TURN),
      "}": () => viewer.turn(TURN),
      f: () => this.step(1),
      F: () => this.step(-1),
      Home: () => {
        viewer.turn(null);
        viewer.osd.viewport.goHome(true);
      },
    };
    if (event.repeat || !Object.hasOwn(acts, event.key)) return false;
    acts[event.key]();
    return true;
  }

  /** Choose the next frame in view. */
  step(by) {
    const { viewer } = this;
    const { width, height } = viewer.canvas.getBoundingClientRect();
    viewer.choose(viewer.frames.step(by, new Place(viewer.osd), width, height));
  }

  close() { window.removeEventListener("keydown", this.listener, true); }
}


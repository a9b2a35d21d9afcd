// Part of the viewer: where level-0 pixels of the slide lie on the stage now, moved, zoomed and rotated.
class Place {
  constructor(osd) {
    const image = osd.world.getItemAt(0);
    const { x: width, y: height } = image.getContentSize();
    const at = (x, y) => image.imageToViewerElementCoordinates(new window.OpenSeadragon.Point(x, y));
    const far = Math.max(width, height); // far apart, so that rounding does not show
    const [origin, right, down] = [at(0, 0), at(far, 0), at(0, far)];
    this.width = width;
    this.height = height;
    this.origin = [origin.x, origin.y];
    this.along = [(right.x - origin.x) / far, (right.y - origin.y) / far];
    this.across = [(down.x - origin.x) / far, (down.y - origin.y) / far];
    this.scale = Math.hypot(...this.along); // stage pixels per level-0 pixel
  }

  toStage(x, y) {
    return [this.origin[0] + x * this.along[0] + y * this.across[0], this.origin[1] + x * this.along[1] + y * this.across[1]];
  }

  /** Turn a distance on the stage into one on the slide. */
  turned(dx, dy) {
    const [[a, b], [c, d]] = [this.along, this.across];
    const area = a * d - b * c;
    return [(dx * d - dy * c) / area, (dy * a - dx * b) / area];
  }

  toSlide(x, y) { return this.turned(x - this.origin[0], y - this.origin[1]); }

  corners(x, y, side) {
    return [this.toStage(x, y), this.toStage(x + side, y), this.toStage(x + side, y + side), this.toStage(x, y + side)];
  }
}


// Part of the viewer: where tissue was found on a slide, as the draw of candidates takes it.
class Tissue {
  constructor(redraw) {
    this.redraw = redraw;
    this.shown = false;
    this.slide = null;
    this.picture = null;
    this.scale = 1; // level-0 pixels per pixel of the picture
    this.trouble = "";
  }

  async load(slide) {
    if (!this.shown || slide === this.slide) return;
    this.slide = slide;
    this.picture = null;
    this.trouble = "";
    const answer = await fetch(`/api/slides/${slide}/tissue`).catch(() => null);
    if (this.slide !== slide) return;
    if (answer?.ok) {
      const scale = Number(answer.headers.get("Level-0-Pixels"));
      const picture = await createImageBitmap(await answer.blob());
      if (this.slide !== slide) return;
      Object.assign(this, { picture, scale });
    } else {
      this.slide = null; // asked for again the next time
      this.trouble = (await answer?.json().catch(() => null))?.error ?? "The tissue cannot be shown: no connection.";
    }
    this.redraw();
  }

  draw(context, place) {
    if (!this.shown || !this.picture) return;
    context.save();
    context.transform(...place.along, ...place.across, ...place.origin);
    context.imageSmoothingEnabled = true;
    context.drawImage(this.picture, 0, 0, this.picture.width * this.scale, this.picture.height * this.scale);
    context.restore();
  }
}


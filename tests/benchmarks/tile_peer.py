"""A deep-zoom server as openslide-python's own Flask example is one: DeepZoomGenerator, JPEG of quality 75, no cache.

Run as a process of its own: `python -m tests.benchmarks.tile_peer SLIDE PORT`.
"""

from __future__ import annotations

import io
import sys
from pathlib import Path

import openslide
from flask import Flask, Response, abort
from openslide.deepzoom import DeepZoomGenerator

TILE_SIZE, OVERLAP, QUALITY = 254, 1, 75
"""The example's defaults."""


def peer_app(path: Path) -> Flask:
    """Return the app that serves the tiles of one slide."""
    app = Flask(__name__)
    tiles = DeepZoomGenerator(openslide.OpenSlide(path), TILE_SIZE, OVERLAP, limit_bounds=True)

    @app.route("/<int:level>/<int:column>_<int:row>.jpeg")
    def tile(level: int, column: int, row: int) -> Response:
        try:
            image = tiles.get_tile(level, (column, row))
        except ValueError:
            abort(404)
        buffer = io.BytesIO()
        image.save(buffer, "jpeg", quality=QUALITY)
        return Response(buffer.getvalue(), mimetype="image/jpeg")

    return app


if __name__ == "__main__":
    peer_app(Path(sys.argv[1])).run(host="127.0.0.1", port=int(sys.argv[2]), threaded=True)

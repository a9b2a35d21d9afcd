"""Pictures over HTTP: ROI images, thumbnails and slide tiles, behind the same guard as the pages."""

from curator_app.routes._drafts import draft_routes
from curator_app.routes._guard import LocalGuard
from curator_app.routes._open_slides import OpenSlides
from curator_app.routes._page_shell import PageShell, nothing_else
from curator_app.routes._pictures import picture_routes

__all__ = ["LocalGuard", "OpenSlides", "PageShell", "draft_routes", "nothing_else", "picture_routes"]

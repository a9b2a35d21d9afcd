"""What the server answers besides Streamlit: signing in, pictures, drafts and downloads, all behind one guard."""

from curator_app.routes._account_pages import account_routes
from curator_app.routes._audit_export import audit_routes, export_address
from curator_app.routes._downloads import archive_address, download_address, download_routes, downloadable
from curator_app.routes._drafts import draft_routes
from curator_app.routes._guard import Guard, answered_names
from curator_app.routes._leases import lease_routes
from curator_app.routes._open_slides import OpenSlides
from curator_app.routes._page_shell import PageShell, nothing_else
from curator_app.routes._pictures import picture_routes
from curator_app.routes._protected import ProtectedRoute
from curator_app.routes._provider import ProviderAnswers, provider_routes
from curator_app.routes._saves import save_routes
from curator_app.routes._scripts import script_routes
from curator_app.routes._slide_rois import geojson_address, slide_roi_routes
from curator_app.routes._tile_cache import TileCache
from curator_app.routes._troubles import Troubles

__all__ = [
    "Guard",
    "OpenSlides",
    "PageShell",
    "ProtectedRoute",
    "ProviderAnswers",
    "TileCache",
    "Troubles",
    "account_routes",
    "answered_names",
    "archive_address",
    "audit_routes",
    "download_address",
    "download_routes",
    "downloadable",
    "draft_routes",
    "export_address",
    "geojson_address",
    "lease_routes",
    "nothing_else",
    "picture_routes",
    "provider_routes",
    "save_routes",
    "script_routes",
    "slide_roi_routes",
]

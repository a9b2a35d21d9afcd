"""Refuse to build a wheel without the slide viewer's script, which comes from npm and is not in the repository."""

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

VIEWER_SCRIPT = Path("curator_app/components/viewer/vendor/openseadragon.min.js")


class ViewerPresent(BuildHookInterface):  # type: ignore[type-arg]
    """Stop a wheel build where `make viewer` was not run; editable installs may fetch it afterwards."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002
        if version != "editable" and not (Path(self.root) / VIEWER_SCRIPT).is_file():
            raise FileNotFoundError(f"{VIEWER_SCRIPT} is missing: run 'make viewer' before building a wheel")

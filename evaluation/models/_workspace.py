"""Points the provider layer's own logs and cache into a workspace."""

from __future__ import annotations

import os
from pathlib import Path


def use_workspace(folder: Path) -> None:
    """Send inspect_ai's evaluation logs and reply cache below `folder`; call once, before the first model call.

    Without it inspect_ai writes `./logs` into the working directory, and a cache and traces into the user's home.
    """
    settings = {
        "INSPECT_LOG_DIR": folder / "logs" / "inspect",
        "INSPECT_CACHE_DIR": folder / "cache" / "inspect",
        # Traces and buffers, which hold replies, follow the user's data folder; no variable of their own.
        "XDG_DATA_HOME": folder / "cache" / "data",
    }
    for name, path in settings.items():
        path.mkdir(parents=True, exist_ok=True)
        os.environ[name] = str(path.resolve())

"""`histocurator doctor`: what this machine can do, what is missing and how to get it."""

from __future__ import annotations

import importlib.util
import os
import platform
import shutil
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import typer

from curator_app.cli._output import (
    EXIT_BAD_INPUT,
    JsonOption,
    WorkspaceOption,
    how_to_get,
    print_json,
    print_table,
)

MINIMUM_FREE_GB = 5


@dataclass(frozen=True)
class Check:
    """One thing looked at: `status` is ok, optional (a part that is not there) or broken (needs mending)."""

    what: str
    status: str
    found: str
    remedy: str = ""


def _package(what: str, module: str, distribution: str, remedy: str) -> Check:
    if importlib.util.find_spec(module) is None:
        return Check(what, "optional", "not installed", remedy)
    try:
        return Check(what, "ok", f"{distribution} {version(distribution)}")
    except PackageNotFoundError:
        return Check(what, "ok", distribution)


def _openslide() -> Check:
    try:
        import openslide
    except (ImportError, OSError) as error:
        return Check(
            "read slides",
            "broken",
            str(error),
            "pip install --force-reinstall openslide-bin openslide-python",
        )
    return Check("read slides", "ok", f"OpenSlide {openslide.__library_version__}")


def _model_keys() -> list[Check]:
    keys = {"OpenAI": "OPENAI_API_KEY", "Anthropic": "ANTHROPIC_API_KEY", "Google": "GOOGLE_API_KEY"}
    return [
        Check(f"{name} models", "ok", f"{variable} is set")
        if os.environ.get(variable)
        else Check(f"{name} models", "optional", f"{variable} is not set", f"export {variable}=…")
        for name, variable in keys.items()
    ]


def _gpu() -> Check:
    if importlib.util.find_spec("torch") is None:
        return Check("local models and encoders", "optional", "no torch", how_to_get("gpu"))
    import torch

    if torch.cuda.is_available():
        return Check("local models and encoders", "ok", f"torch {torch.__version__}, {torch.cuda.get_device_name(0)}")
    return Check("local models and encoders", "ok", f"torch {torch.__version__}, no GPU: the CPU is used")


def _viewer() -> Check:
    script = Path(__file__).parent.parent / "components" / "viewer" / "vendor" / "openseadragon.min.js"
    if script.is_file():
        return Check("slide viewer", "ok", "OpenSeadragon is there")
    return Check("slide viewer", "broken", f"{script.name} is missing", "make viewer (or make install)")


def _workspace(given: Path | None) -> list[Check]:
    from pipeline.errors import InputError
    from pipeline.workspace import WORKSPACE_VARIABLE, find_workspace, open_workspace

    if given is None and not os.environ.get(WORKSPACE_VARIABLE):
        return [Check("workspace", "optional", "none named", "histocurator init DIR, then --workspace DIR")]
    try:
        root = find_workspace(given)
        opened = open_workspace(root)
    except InputError as error:
        return [Check("workspace", "broken", error.message, "see the message")]
    free = shutil.disk_usage(opened.root).free / 1e9
    return [
        Check("workspace", "ok", f"{opened.root} ({opened.engine.dialect.name})"),
        Check(
            "free space",
            "ok" if free >= MINIMUM_FREE_GB else "broken",
            f"{free:.0f} GB",
            "free some disk space",
        ),
    ]


def doctor(workspace: WorkspaceOption = None, as_json: JsonOption = False) -> None:
    """Say what this machine can do, what is missing and how to get it. Exit 2 if something needs mending."""
    checks = [
        Check("Python", "ok", platform.python_version()),
        _openslide(),
        _package("evaluate models", "inspect_ai", "inspect-ai", how_to_get("app")),
        _package("browser app", "streamlit", "streamlit", how_to_get("app")),
        _package("workspace database", "sqlmodel", "sqlmodel", how_to_get("app")),
        _package("job queue", "dbos", "dbos", how_to_get("app")),
        _gpu(),
        _package("more slide formats", "tiatoolbox", "tiatoolbox", how_to_get("tiatoolbox")),
        *_model_keys(),
    ]
    if importlib.util.find_spec("streamlit") is not None:
        checks.append(_viewer())
    if importlib.util.find_spec("sqlmodel") is not None:
        checks += _workspace(workspace)
    if as_json:
        print_json([asdict(check) for check in checks])
    else:
        print_table(
            "This machine",
            ("what", "status", "found", "how to get it"),
            [(check.what, check.status, check.found, "" if check.status == "ok" else check.remedy) for check in checks],
        )
    if any(check.status == "broken" for check in checks):
        raise typer.Exit(EXIT_BAD_INPUT)

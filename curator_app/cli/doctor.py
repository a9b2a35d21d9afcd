"""`histocurator doctor`: what this machine can do, what is missing and how to get it."""

from __future__ import annotations

import importlib.util
import os
import platform
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from curator_app.cli._output import (
    EXIT_BAD_INPUT,
    JsonOption,
    WorkspaceOption,
    how_to_get,
    missing_app_packages,
    print_json,
    print_table,
)

if TYPE_CHECKING:
    from pipeline.workspace import Workspace


@dataclass(frozen=True)
class Check:
    """One thing looked at.

    `status` is ok, optional (a part that is not there), warning (see to it soon) or broken (needs mending); `details`
    are all the places that `found` is about.
    """

    what: str
    status: str
    found: str
    remedy: str = ""
    details: tuple[str, ...] = ()


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


def _workspace(given: Path | None, *, deep: bool) -> list[Check]:
    from pipeline.errors import InputError
    from pipeline.health import check_workspace
    from pipeline.workspace import WORKSPACE_VARIABLE, find_workspace, open_workspace

    if given is None and not os.environ.get(WORKSPACE_VARIABLE):
        return [Check("workspace", "optional", "none named", "histocurator init DIR, then --workspace DIR")]
    try:
        root = find_workspace(given)
        opened = open_workspace(root)
    except InputError as error:
        remedy = "name another folder, or make one: histocurator init DIR"
        return [Check("workspace", "broken", error.message, remedy)]
    try:
        people = _people(opened)
        findings = check_workspace(opened, deep=deep)
    finally:
        opened.engine.dispose()
    return [
        Check("workspace", "ok", f"{opened.root} ({opened.engine.dialect.name})"),
        *(Check(one.what, one.state, one.found, one.remedy, one.details) for one in findings),
        *people,
    ]


def _people(opened: Workspace) -> list[Check]:
    """Say whether people sign in here and how; nothing of who they are, since anybody may ask."""
    from curator_app.listening import link_base
    from curator_app.single_sign_on import load_provider
    from pipeline.errors import InputError
    from pipeline.people import accounts_exist

    accounts = (
        Check("accounts", "ok", "everybody signs in")
        if accounts_exist(opened)
        else Check(
            "accounts", "optional", "none: whoever made it works alone", "histocurator users add NAME --role admin"
        )
    )
    try:
        provider = load_provider(opened, link_base(opened))
    except InputError as error:
        return [accounts, Check("single sign-on", "broken", error.message, "correct it (docs/people.md)")]
    if provider is None:
        return [
            accounts,
            Check("single sign-on", "optional", "not configured", "setting oidc_secrets (docs/people.md)"),
        ]
    return [accounts, Check("single sign-on", "ok", f"configured: {provider.name}, back to {provider.origin}")]


def _secret_key() -> Check:
    """Say whether a key for serving beyond this computer is set; its value is nobody's business."""
    from curator_app.identity import MIN_KEY_LENGTH, SECRET_KEY_VARIABLE

    what, length = "serve beyond this computer", len(os.environ.get(SECRET_KEY_VARIABLE, ""))
    if length >= MIN_KEY_LENGTH:
        return Check(what, "ok", f"{SECRET_KEY_VARIABLE} is set")
    if length:
        return Check(what, "broken", f"{SECRET_KEY_VARIABLE} is too short", f"at least {MIN_KEY_LENGTH} characters")
    return Check(what, "optional", f"{SECRET_KEY_VARIABLE} is not set", "docs/people.md says how to make one")


def doctor(
    workspace: WorkspaceOption = None,
    deep: Annotated[bool, typer.Option("--deep", help="Read the images of ROIs whole and compare their sums.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Say what this machine can do, what is missing and how to get it. Exit 2 if something needs mending."""
    checks = [
        Check("Python", "ok", platform.python_version()),
        _openslide(),
        _package("evaluate models", "inspect_ai", "inspect-ai", how_to_get("app")),
        _package("browser app", "streamlit", "streamlit", how_to_get("app")),
        _package("workspace database", "sqlmodel", "sqlmodel", how_to_get("app")),
        _package("job queue", "dbos", "dbos", how_to_get("app")),
        _package("passwords", "argon2", "argon2-cffi", how_to_get("app")),
        _package("single sign-on library", "authlib", "authlib", how_to_get("app")),
        _gpu(),
        _package("more slide formats", "tiatoolbox", "tiatoolbox", how_to_get("tiatoolbox")),
        *_model_keys(),
    ]
    if importlib.util.find_spec("streamlit") is not None:
        checks.append(_viewer())
    if not missing_app_packages():
        checks.append(_secret_key())
        checks += _workspace(workspace, deep=deep)
    if as_json:
        # Places only where there are some.
        print_json([{name: value for name, value in asdict(check).items() if value != ()} for check in checks])
    else:
        print_table(
            "This machine",
            ("what", "status", "found", "how to get it"),
            [(check.what, check.status, check.found, "" if check.status == "ok" else check.remedy) for check in checks],
        )
    if any(check.status == "broken" for check in checks):
        raise typer.Exit(EXIT_BAD_INPUT)

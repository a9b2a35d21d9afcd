"""`histocurator encoders`: what is known of each encoder, and whether its weights are here."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from curator_app.cli._output import JsonOption, missing_app_packages, print_json, print_table, print_text

if TYPE_CHECKING:
    from evaluation.encoders import EncoderEntry

encoders_app = typer.Typer(help="Encoders from images to vectors.", no_args_is_help=True)

CheckpointWorkspace = Annotated[
    Path | None,
    typer.Option(
        "--workspace", envvar="HISTOCURATOR_WORKSPACE", help="Workspace whose settings name checkpoints, if any."
    ),
]


def _weights(workspace: Path | None) -> dict[str, str]:
    """Return where each encoder's weights are by the settings of a workspace, which need not be opened for it."""
    from evaluation.encoders import list_encoders, weights_here

    checkpoints: dict[str, Path] = {}
    downloads = False
    if workspace is not None and not missing_app_packages():
        from pipeline.settings import Settings

        settings = Settings.load(workspace)
        checkpoints, downloads = settings.encoder_checkpoints, settings.encoder_downloads
    return {
        entry.name: weights_here(entry, checkpoints.get(entry.name), downloads=downloads) for entry in list_encoders()
    }


@encoders_app.command("list")
def list_(workspace: CheckpointWorkspace = None, as_json: JsonOption = False) -> None:
    """List all encoders: size, resolution, dimension, licence, and where the weights are."""
    from evaluation.encoders import list_encoders

    weights = _weights(workspace)
    if as_json:
        print_json([_as_dict(entry, weights[entry.name]) for entry in list_encoders()])
        return
    print_table(
        "Encoders (– is not surely known)",
        ("name", "px", "µm/px", "dimension", "tokens", "licence", "gated", "weights"),
        [
            (
                entry.name,
                entry.input_size or "–",
                ", ".join(f"{mpp:g}" for mpp in entry.mpp) or "–",
                entry.dimension or "–",
                f"{entry.grid} × {entry.grid}" if entry.grid else "–",
                entry.licence or "–",
                {True: "yes", False: "no", None: "–"}[entry.gated],
                weights[entry.name],
            )
            for entry in list_encoders()
        ],
    )


@encoders_app.command("show")
def show(
    name: Annotated[str, typer.Argument(help="Name of the encoder.")],
    workspace: CheckpointWorkspace = None,
    as_json: JsonOption = False,
) -> None:
    """Show all that is known of one encoder, what is not, and how to get its weights."""
    from evaluation.encoders import encoder_entry, how_to_get_weights, missing_packages

    entry = encoder_entry(name)
    weights = _weights(workspace)[entry.name]
    if as_json:
        print_json(_as_dict(entry, weights))
        return
    print_text(f"{entry.name} {entry.version}: {entry.description}")
    said = {
        "input": f"{entry.input_size} px" if entry.input_size else None,
        "resolution": ", ".join(f"{mpp:g} µm/px" for mpp in entry.mpp),
        "mean": entry.mean and ", ".join(f"{value:.4g}" for value in entry.mean),
        "standard deviation": entry.std and ", ".join(f"{value:.4g}" for value in entry.std),
        "dimension": entry.dimension,
        "pooling": entry.pooling,
        "token grid": f"{entry.grid} × {entry.grid}" if entry.grid else None,
        "network": entry.build and f"{entry.build.architecture} ({entry.build.library})",
        "licence": entry.licence,
        "weights": weights,
        "source": " ".join(entry.source),
        "not surely known": "; ".join(entry.unknown),
        "packages missing": ", ".join(missing_packages(entry)),
    }
    for what, value in said.items():
        if value:
            print_text(f"  {what}: {value}")
    if not entry.built_in:
        print_text(f"  how to get them: {how_to_get_weights(entry)}")


def _as_dict(entry: EncoderEntry, weights: str) -> dict[str, Any]:
    from evaluation.encoders import missing_packages

    return {**entry.model_dump(mode="json"), "weights_here": weights, "missing_packages": missing_packages(entry)}

"""The table of encoders as a page of the docs: python -m evaluation.encoders.document."""

from __future__ import annotations

import sys

from evaluation.encoders._entries import EncoderEntry, encoder_entries
from evaluation.encoders._registry import NEVER_LOADED, weights_here

_HEAD = f"""# Encoders

Written from `assets/encoders.json` by `make docs`; `histocurator encoders list` and `show NAME` say the same, and what
is missing on a machine. A dash is what is not surely known from the published card; the last table lists it.

Weights are taken from a file (`--checkpoint FILE`, or `encoder_checkpoints` in `settings.toml`) or, with
`encoder_downloads = true`, from the Hugging Face hub. Those that are marked as gated have to be asked for first. A
checkpoint's SHA-256 becomes part of the version under which embeddings are kept; one whose tensors are not those of
the network is refused with their names. Of encoders marked “{NEVER_LOADED}” the tests build the network
without weights and compare dimension, token grid and preparation with this table; nobody has seen them at work here.

The network of `trace` is not published: beside its checkpoint, `FILE.pt`, lies `FILE.json` with what timm builds it
from and how images are prepared (`architecture`, `arguments`, `input_size`, `mean`, `std`, `dimension`).

An image is resampled to the input size. Values of 0 to 1 are normalised by mean and standard deviation. `class` pools
to the class token, `mean` to the mean of the grid, `class+mean` to both; every encoder but `colour-texture` also gives
its class token and its token grid.
"""


def encoders_document() -> str:
    """Return the registry as a page."""
    entries = list(encoder_entries().values())
    unknown = [f"| {entry.name} | {'; '.join(entry.unknown)} |" for entry in entries if entry.unknown]
    return "\n".join(
        [
            _HEAD,
            "| name | what | px | µm/px | vector | tokens | licence | gated | weights | source |",
            "|---|---|---|---|---|---|---|---|---|---|",
            *(_row(entry) for entry in entries),
            "",
            "## Normalisation",
            "",
            "| name | mean | standard deviation |",
            "|---|---|---|",
            *(
                f"| {entry.name} | {_triple(entry.mean)} | {_triple(entry.std)} |"
                for entry in entries
                if entry.build is None or entry.build.architecture != "colour-texture"
            ),
            "",
            "## Not surely known",
            "",
            "| name | what |",
            "|---|---|",
            *unknown,
            "",
        ]
    )


def _row(entry: EncoderEntry) -> str:
    cells = (
        f"`{entry.name}`",
        entry.description,
        entry.input_size or "–",
        ", ".join(f"{mpp:g}" for mpp in entry.mpp) or "–",
        f"{entry.dimension} ({entry.pooling})" if entry.dimension else "–",
        f"{entry.grid} × {entry.grid}{' + class' if entry.class_token else ''}" if entry.grid else "–",
        entry.licence or "–",
        {True: "yes", False: "no", None: "–"}[entry.gated],
        weights_here(entry, None, downloads=False),
        " ".join(f"<{page}>" for page in entry.source) or "–",
    )
    return f"| {' | '.join(map(str, cells))} |"


def _triple(values: tuple[float, float, float] | None) -> str:
    return "–" if values is None else ", ".join(f"{value:.6g}" for value in values)


if __name__ == "__main__":
    sys.stdout.write(encoders_document())

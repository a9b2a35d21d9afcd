"""`histocurator rois`: sample candidates, bin them, select across bins, list and import."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from curator_app.cli._output import (
    EXIT_NOTHING_USABLE,
    JsonOption,
    WorkspaceOption,
    opened_workspace,
    print_json,
    print_table,
    print_text,
    progress_bar,
    to_stderr,
)

if TYPE_CHECKING:
    from pipeline.sampling import SampleReport

rois_app = typer.Typer(help="Regions of interest: candidates, bins, selection.", no_args_is_help=True)

OrganOption = Annotated[str, typer.Option(help="Organ whose slides or candidates to take.")]
SeedOption = Annotated[int, typer.Option(help="The same seed gives the same result.")]


@rois_app.command("sample")
def sample(
    organ: OrganOption,
    count: Annotated[int, typer.Option(help="How many candidates.")],
    size: Annotated[int, typer.Option(help="Side in output pixels.")] = 1024,
    magnification: Annotated[
        list[str] | None,
        typer.Option(
            help="20 (0.5 µm/px), 5 (2), 2.5 (4) or between; several with their shares: 20:0.6. [default: 20]"
        ),
    ] = None,
    min_tissue: Annotated[float, typer.Option(help="Smallest share of tissue, 0 to 1.")] = 0.5,
    max_overlap: Annotated[float, typer.Option(help="Largest share that two candidates may have in common.")] = 0.25,
    seed: SeedOption = 0,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Draw candidates at random on tissue, spread over studies and slides, and flag the artefacts they show.

    Fewer than asked is no error: what is missing and why is printed, by magnification, study and slide.
    """
    with opened_workspace(workspace) as opened:
        from pipeline.sampling import sample_candidates

        with progress_bar("Drawing candidates") as progress:
            report = sample_candidates(
                opened,
                organ=organ,
                count=count,
                size=size,
                magnifications=_magnifications(magnification or ["20"]),
                min_tissue=min_tissue,
                max_overlap=max_overlap,
                seed=seed,
                who=opened.actor.name,
                progress=progress,
            )
        for problem in report.problems:
            to_stderr(f"skipped: {problem}")
        if as_json:
            print_json(
                {
                    "asked": report.asked,
                    "drawn": report.drawn,
                    "added": report.added,
                    "flagged": report.flagged,
                    "problems": report.problems,
                    "parts": [asdict(part) for part in report.parts],
                }
            )
        else:
            _print_report(report)
        if 0 < report.drawn < report.asked:
            to_stderr("No more fit: for more, lower --min-tissue or --size, raise --max-overlap, or add slides.")
        if report.drawn == 0:
            to_stderr("No candidate fits: lower --min-tissue or --size, or raise --max-overlap.")
            raise typer.Exit(EXIT_NOTHING_USABLE)


def _magnifications(given: list[str]) -> list[tuple[float, float]]:
    """Read `20:0.6`, or `20` alone: without shares all magnifications have the same."""
    from pipeline.errors import InputError

    parts = [one.partition(":") for one in given]
    if len({bool(colon) for _, colon, _ in parts}) > 1:
        raise InputError(
            "--magnification: give each of them a share, such as 20:0.6, or none of them. Nothing was changed."
        )
    try:
        return [(float(value), float(share) if colon else 1 / len(parts)) for value, colon, share in parts]
    except ValueError:
        raise InputError(
            f"--magnification {' '.join(given)}: write 20, or with its share 20:0.6. Nothing was changed."
        ) from None


def _print_report(report: SampleReport) -> None:
    flagged = f", {report.flagged} of them show an artefact" if report.flagged else ""
    print_text(f"{report.drawn} candidates drawn of {report.asked} asked, {report.added} new{flagged}.")
    if len(totals := report.by_magnification()) > 1:
        print_text("; ".join(f"{number:g}×: {drawn} of {asked}" for number, asked, drawn in totals) + ".")
    if lacking := [part for part in report.parts if part.why]:
        print_table(
            "Fewer than an equal part",
            ("×", "study", "slide", "part", "drawn", "why"),
            [(f"{one.magnification:g}", one.study, one.slide, one.asked, one.drawn, one.why) for one in lacking],
        )


EncoderOption = Annotated[str | None, typer.Option(help="Encoder; the settings' where not given.")]
CheckpointOption = Annotated[Path | None, typer.Option(help="File of the encoder's weights; else the settings'.")]
NormalisationOption = Annotated[str, typer.Option(help="Stain normalisation first: none, macenko or reinhard.")]
SchedulerOption = Annotated[
    str | None, typer.Option(help="Dask cluster that embeds the slides: local, slurm or tcp://ADDRESS:PORT.")
]


@rois_app.command("embed")
def embed(
    organ: OrganOption,
    encoder: EncoderOption = None,
    checkpoint: CheckpointOption = None,
    normalisation: NormalisationOption = "none",
    scheduler: SchedulerOption = None,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Embed an organ's candidates and keep the vectors; a run that was killed goes on where it stopped."""
    with opened_workspace(workspace) as opened:
        from pipeline.embedding import embed_organ

        with progress_bar("Embedding candidates") as progress:
            report = embed_organ(
                opened,
                organ=organ,
                encoder=encoder,
                checkpoint=checkpoint,
                normalisation=normalisation,
                scheduler=scheduler,
                progress=progress,
            )
        if as_json:
            print_json(asdict(report))
            return
        print_text(
            f"{report.embedded} of {report.candidates} candidates embedded now by {report.encoder} "
            f"{report.encoder_version}, stain normalisation {report.normalisation}; the others were there."
        )
        if report.blank:
            to_stderr(f"{report.blank} show no stain: they were embedded as they are, without normalisation.")


@rois_app.command("bin")
def bin_(
    organ: OrganOption,
    bins: Annotated[int, typer.Option(help="Number of bins.")] = 20,
    encoder: EncoderOption = None,
    checkpoint: CheckpointOption = None,
    normalisation: NormalisationOption = "none",
    scheduler: SchedulerOption = None,
    seed: SeedOption = 0,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Embed an organ's candidates and cluster them into bins."""
    with opened_workspace(workspace) as opened:
        from pipeline.bins import bin_candidates

        with progress_bar("Embedding candidates") as progress:
            binning = bin_candidates(
                opened,
                organ=organ,
                bins=bins,
                encoder=encoder,
                checkpoint=checkpoint,
                normalisation=normalisation,
                scheduler=scheduler,
                seed=seed,
                who=opened.actor.name,
                progress=progress,
            )
        if as_json:
            print_json(
                {
                    "id": binning.id,
                    "organ": binning.organ,
                    "encoder": binning.encoder,
                    "encoder_version": binning.encoder_version,
                    "bins": binning.bins,
                    "sizes": binning.sizes,
                }
            )
        else:
            print_text(
                f"{sum(binning.sizes)} candidates of {binning.organ} in {binning.bins} bins by {binning.encoder} "
                f"{binning.encoder_version}; sizes {', '.join(map(str, binning.sizes))}."
            )


@rois_app.command("select")
def select(
    organ: OrganOption,
    per_bin: Annotated[
        int | None, typer.Option(help="How many ROIs of each bin, the most typical first; the quotas where not given.")
    ] = None,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Select candidates across all bins and store their images."""
    with opened_workspace(workspace) as opened:
        from pipeline.rois import list_rois, select_across_bins

        with progress_bar("Storing images") as progress:
            added = select_across_bins(opened, organ=organ, per_bin=per_bin, who=opened.actor.name, progress=progress)
        total = len(list_rois(opened, organ=organ))
        if as_json:
            print_json({"selected": [roi.id for roi in added], "total": total})
        else:
            print_text(f"{len(added)} ROIs selected, {total} of {organ} in all.")
        if total == 0:
            raise typer.Exit(EXIT_NOTHING_USABLE)


def _as_dict(roi: Any, slide: Any, held: Any) -> dict[str, Any]:
    return {
        "id": roi.id,
        "state": roi.state,
        "slide": roi.slide_id,
        "slide_name": slide.name,
        "organ": roi.organ,
        "x": roi.x,
        "y": roi.y,
        "size": roi.size,
        "resolution": roi.mpp,
        "magnification": roi.magnification,
        "tissue_share": roi.tissue_share,
        "flags": roi.flags,
        "bin": None if roi.bin is None else roi.bin + 1,
        "image": roi.image_path,
        "within": list(held.within),
        "holds": list(held.holds),
    }


@rois_app.command("list")
def list_(
    candidates: Annotated[bool, typer.Option("--candidates", help="The candidates instead.")] = False,
    organ: Annotated[str | None, typer.Option(help="Only this organ.")] = None,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """List selected ROIs, or the candidates (x, y in level-0 pixels, resolution in µm per pixel, bins from 1).

    --json also names for each the listed ROIs that it lies within and those that it holds. Those that show an artefact
    come last of their bin.
    """
    with opened_workspace(workspace) as opened:
        from pipeline.containment import containment
        from pipeline.roi_flags import flags_of
        from pipeline.rois import list_rois

        rows = list_rois(opened, organ=organ, states=("candidate",) if candidates else ("selected",))
        what = "candidates" if candidates else "selected ROIs"
        if as_json:
            held = containment(rows)
            print_json([_as_dict(roi, slide, held[roi.id]) for roi, slide in rows])
        elif not rows:
            print_text(f"No {what} yet.")
        else:
            print_table(
                f"{len(rows)} {what}",
                ("id", "organ", "slide", "x", "y", "size", "µm/px", "bin", "artefacts"),
                [
                    (
                        roi.id,
                        roi.organ,
                        slide.name,
                        roi.x,
                        roi.y,
                        roi.size,
                        roi.mpp,
                        None if roi.bin is None else roi.bin + 1,
                        ", ".join(flags_of(roi)),
                    )
                    for roi, slide in rows
                ],
            )


@rois_app.command("import")
def import_(
    file: Annotated[
        Path,
        typer.Argument(help="CSV: image (with organ, source, licence), or slide, x, y, size, resolution."),
    ],
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Import ROIs that exist already. All rows are good, or none is imported."""
    with opened_workspace(workspace) as opened:
        from pipeline.roi_import import import_rois

        rois = import_rois(opened, file, who=opened.actor.name)
        if as_json:
            print_json({"imported": [roi.id for roi in rois]})
        else:
            print_text(f"{len(rois)} ROIs imported.")

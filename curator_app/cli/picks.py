"""`histocurator rois`: pick and reject single ROIs, bins with their quotas, and how varied the pick is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Annotated, Any

import typer

from curator_app.cli._output import (
    JsonOption,
    WorkspaceOption,
    opened_workspace,
    print_json,
    print_table,
    print_text,
    progress_bar,
)
from curator_app.cli.rois import OrganOption, SeedOption

IdsArgument = Annotated[list[str], typer.Argument(help="Ids of ROIs, as 'rois list' gives them.")]


def _each(ids: list[str], change: Callable[[str], Any], done: str) -> list[str]:
    """Change each ROI; what is refused keeps no other from being changed and is listed at the end."""
    from evaluation.slides import SlideError
    from pipeline.errors import InputError
    from pipeline.permissions import NotAllowedError

    changed, problems = [], []
    for roi_id in dict.fromkeys(ids):
        try:
            change(roi_id)
        except NotAllowedError:
            raise
        except (InputError, SlideError) as error:
            problems.append(str(error))
        else:
            changed.append(roi_id)
    if problems:
        raise InputError(f"{len(changed)} of {len(changed) + len(problems)} ROIs {done}; not done:", problems)
    return changed


def pick(ids: IdsArgument, workspace: WorkspaceOption = None, as_json: JsonOption = False) -> None:
    """Select single ROIs and store their images."""
    with opened_workspace(workspace) as opened:
        from pipeline.rois import select_roi

        picked = _each(ids, lambda roi_id: select_roi(opened, roi_id, who=opened.actor.name), "selected")
        if as_json:
            print_json({"selected": picked})
        else:
            print_text(f"{len(picked)} {'ROI' if len(picked) == 1 else 'ROIs'} selected.")


def reject(
    ids: IdsArgument,
    reason: Annotated[str, typer.Option(help="artefact, wrong tissue, duplicate, or any other reason in words.")],
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Take single ROIs out of the candidates, with the reason that the audit trail keeps."""
    with opened_workspace(workspace) as opened:
        from pipeline.rejections import rejection_reason
        from pipeline.rois import reject_roi

        said = rejection_reason(reason)
        rejected = _each(ids, lambda roi_id: reject_roi(opened, roi_id, who=opened.actor.name, reason=said), "rejected")
        if as_json:
            print_json({"rejected": rejected, "reason": said})
        else:
            print_text(f"{len(rejected)} {'ROI' if len(rejected) == 1 else 'ROIs'} rejected ({said}).")


def bins(organ: OrganOption, workspace: WorkspaceOption = None, as_json: JsonOption = False) -> None:
    """List an organ's bins: size, slides, studies, silhouette, artefacts, and how far the quota is filled."""
    with opened_workspace(workspace) as opened:
        from pipeline.bin_sheets import list_bins

        sheets = list_bins(opened, organ=organ)
        if as_json:
            print_json(
                [
                    {
                        "bin": sheet.number,
                        **{name: value for name, value in asdict(sheet).items() if name != "number"},
                        "covered": sheet.covered,
                        "artefact_rich": sheet.artefact_rich,
                    }
                    for sheet in sheets
                ]
            )
            return
        print_table(
            f"{len(sheets)} bins, {sum(sheet.covered for sheet in sheets)} covered, "
            f"{sum(sheet.selected for sheet in sheets)} of {sum(sheet.quota for sheet in sheets)} ROIs selected",
            ("bin", "ROIs", "slides", "studies", "silhouette", "artefacts", "selected", "quota", "covered"),
            [
                (
                    sheet.number,
                    sheet.size,
                    sheet.slides,
                    sheet.studies,
                    "not known" if sheet.silhouette is None else f"{sheet.silhouette:.2f}",
                    f"{sheet.artefact_share:.0%}{' (rich)' if sheet.artefact_rich else ''}",
                    sheet.selected,
                    sheet.quota,
                    "yes" if sheet.covered else "no",
                )
                for sheet in sheets
            ],
        )


def _bin_quota(text: str) -> tuple[int, int]:
    from pipeline.errors import InputError

    number, equals, quota = text.partition("=")
    try:
        if not equals:
            raise ValueError
        return int(number), int(quota)
    except ValueError:
        raise InputError(f"--bin {text} is not BIN=QUOTA, such as 7=3. Nothing was changed.") from None


def quota(
    organ: OrganOption,
    total: Annotated[int | None, typer.Option(help="Spread so many ROIs over all bins.")] = None,
    bin_: Annotated[
        list[str] | None, typer.Option("--bin", help="Set one bin's quota: BIN=QUOTA (repeatable).")
    ] = None,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Set how many ROIs shall be picked: in all, of single bins, or first in all and then of single bins."""
    with opened_workspace(workspace) as opened:
        from pipeline.errors import InputError
        from pipeline.quotas import quotas_of, set_quotas

        if total is None and not bin_:
            raise InputError("Give --total, or --bin BIN=QUOTA. Nothing was changed.")
        single = dict(_bin_quota(text) for text in bin_ or ())
        binning = set_quotas(opened, organ=organ, total=total, quotas=single, who=opened.actor.name)
        quotas = quotas_of(binning)
        if as_json:
            print_json({"organ": binning.organ, "quotas": quotas, "total": sum(quotas)})
        else:
            print_text(f"{sum(quotas)} ROIs wanted of {binning.organ}: {', '.join(map(str, quotas))} by bin.")


def diversity(
    organ: OrganOption,
    encoder: Annotated[str, typer.Option(help="In which ROIs are compared; not the one that made the bins.")],
    random_picks: Annotated[int, typer.Option(help="How many random picks of the same size.")] = 1_000,
    seed: SeedOption = 0,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Compare the selected ROIs with random picks: are they more varied, by an encoder that did not make the bins?"""
    with opened_workspace(workspace) as opened:
        from pipeline.diversity import measure_diversity
        from pipeline.selection import diversity_text

        with progress_bar("Comparing with random picks") as progress:
            report = measure_diversity(
                opened,
                organ=organ,
                encoder=encoder,
                random_picks=random_picks,
                seed=seed,
                who=opened.actor.name,
                progress=progress,
            )
        if as_json:
            print_json(asdict(report))
        else:
            print_text(diversity_text(report))


def numbers(organ: OrganOption, workspace: WorkspaceOption = None, as_json: JsonOption = False) -> None:
    """Give the numbers of a selection for the methods section, as sentences or as JSON."""
    with opened_workspace(workspace) as opened:
        from pipeline.selection import methods_text, selection_numbers

        found = selection_numbers(opened, organ=organ)
        if not as_json:
            print_text(methods_text(found))
            return
        print_json(
            {
                "organ": found.organ,
                "bins": len(found.bins),
                "bins_covered": found.bins_covered,
                "quotas_filled": found.quotas_filled,
                "candidates": found.candidates,
                "selected": found.selected,
                "slides": found.slides,
                "studies": found.studies,
                "by_magnification": dict(found.by_magnification),
                "rejected": dict(found.rejected),
                "diversity": asdict(found.diversity.report)
                if found.diversity is not None and found.same_pick
                else None,
                "text": methods_text(found),
            }
        )

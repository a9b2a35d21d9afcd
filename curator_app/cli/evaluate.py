"""The commands `eval …`: run models on benchmarks from the command line."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from curator_app.cli._output import (
    EXIT_BAD_INPUT,
    EXIT_NOTHING_USABLE,
    JsonOption,
    missing_app_packages,
    opened_workspace,
    print_json,
    print_table,
    print_text,
    progress_bar,
    to_stderr,
)

if TYPE_CHECKING:
    from evaluation.vqa import Metric, VqaConfig, VqaResults

eval_app = typer.Typer(help="Run models on benchmarks.", no_args_is_help=True)


class AblationChoice(StrEnum):
    """What image the model is shown."""

    NORMAL = "normal"
    BLACK = "black"
    RANDOM = "random"
    NO_IMAGE = "no-image"


class KprimChoice(StrEnum):
    """Whether KPrim statements are asked one by one or together."""

    STATEMENT = "statement"
    JOINT = "joint"


@eval_app.callback()
def _evaluate() -> None:
    """Run models on benchmarks."""


@eval_app.command("vqa")
def evaluate_vqa(
    benchmark: Annotated[
        str,
        typer.Option(help="Release folder, Parquet file, or hub dataset (OWNER/NAME).", show_default=False),
    ],
    model: Annotated[
        str,
        typer.Option(help="Model under test: an inspect_ai name such as openai/gpt-5.2.", show_default=False),
    ],
    out: Annotated[Path, typer.Option(help="Run folder; an interrupted run goes on there.", show_default=False)],
    limit: Annotated[int | None, typer.Option(min=1, help="Only the first N items.")] = None,
    rotations: Annotated[
        int, typer.Option(min=1, max=5, help="Cyclic rotations of MCQ options; 1 keeps the stored order.")
    ] = 5,
    ablation: Annotated[AblationChoice, typer.Option(help="Image shown.")] = AblationChoice.NORMAL,
    judge: Annotated[
        str | None, typer.Option(help="Model that marks free text; the workspace's, else offline/synonyms.")
    ] = None,
    kprim_mode: Annotated[KprimChoice, typer.Option(help="KPrim calls.")] = KprimChoice.STATEMENT,
    organ: Annotated[str | None, typer.Option(help="Only items of this organ.")] = None,
    category: Annotated[str | None, typer.Option(help="Only items of this category.")] = None,
    seed: Annotated[
        int, typer.Option(min=0, max=2**31 - 1, help="Seed of the random ablation, the intervals and the model.")
    ] = 0,
    max_tokens: Annotated[int, typer.Option(min=1, help="Longest reply, in tokens.")] = 4096,
    revision: Annotated[str | None, typer.Option(help="Revision of a hub dataset.")] = None,
    prompts: Annotated[Path | None, typer.Option(help="Folder with prompts of your own.")] = None,
    concurrency: Annotated[int, typer.Option(min=1, max=256, help="Items in work at once.")] = 8,
    as_json: JsonOption = False,
    workspace: Annotated[
        Path | None,
        typer.Option(
            envvar="HISTOCURATOR_WORKSPACE", help="Workspace that lists the run and takes the provider layer's cache."
        ),
    ] = None,
) -> None:
    """Score a vision-language model on a benchmark in VIPER's format."""
    from evaluation.vqa import VqaConfig

    if workspace is not None and not workspace.is_dir():
        to_stderr(f"Error: the workspace {workspace} does not exist. Make it with: histocurator init {workspace}")
        raise typer.Exit(EXIT_BAD_INPUT)
    default_judge = _judge_of(workspace)
    config = VqaConfig(
        benchmark=benchmark,
        model=model,
        out=out,
        revision=revision,
        judge=judge or default_judge,
        limit=limit,
        organ=organ,
        category=category,
        rotations=rotations,
        ablation=ablation.value,
        kprim_mode=kprim_mode.value,
        seed=seed,
        max_tokens=max_tokens,
        prompts=prompts,
        concurrency=concurrency,
    )
    results = _run(config, workspace)
    if workspace is not None and _is_workspace(workspace):
        _register(workspace, out, results)
    if as_json:
        print_json({"out": out, **results.model_dump(mode="json")})
    else:
        _print_results(results, out)
    if not results.metrics:
        to_stderr("No item could be scored.")
        raise typer.Exit(EXIT_NOTHING_USABLE)


def _run(config: VqaConfig, workspace: Path | None) -> VqaResults:
    from evaluation.items.prompts import PromptError
    from evaluation.models import ModelConfigurationError, use_workspace
    from evaluation.vqa import BenchmarkError, PredictionsError, RunFolderError, run_vqa

    if workspace is not None:
        use_workspace(workspace)
    try:
        with progress_bar(f"{config.model}: items") as report:
            return run_vqa(config, lambda done, total: report(done, total, ""))
    except (BenchmarkError, ModelConfigurationError, PredictionsError, PromptError, RunFolderError) as error:
        to_stderr(f"Error: {error}")
        raise typer.Exit(EXIT_BAD_INPUT) from error
    except KeyboardInterrupt:
        to_stderr(f"Interrupted. Run the same command again to go on from what is in {config.out}.")
        raise


def _is_workspace(folder: Path) -> bool:
    """Whether the folder is a workspace that this installation can open; a core install only scores."""
    return (folder / "settings.toml").is_file() and not missing_app_packages()


def _judge_of(workspace: Path | None) -> str:
    """Return the judge that a workspace names, after asking whether the person may evaluate in it.

    Raises:
        NotAllowedError: they may not; no call was made.
    """
    from evaluation.vqa import DEFAULT_JUDGE

    if workspace is None or not _is_workspace(workspace):
        return DEFAULT_JUDGE
    with opened_workspace(workspace) as opened:
        from pipeline.permissions import Permission

        opened.actor.require(Permission.EVALUATE)
        return opened.settings.judge


def _register(workspace: Path, out: Path, results: VqaResults) -> None:
    """Show the run on the workspace's Benchmark page."""
    with opened_workspace(workspace) as opened:
        from pipeline.benchmarks import register_run

        register_run(opened, out, results, who=opened.actor.name)


def _print_results(results: VqaResults, out: Path) -> None:
    configuration = results.provenance.configuration
    rows: list[tuple[object, ...]] = []
    for name, counts in results.outcomes.items():
        chance = results.chance[name]
        rows.append(
            (
                name,
                *_in_words(results.metrics.get(name)),
                f"{chance:.3f}" if chance is not None else "–",
                counts.unparsed,
                counts.refused,
                counts.failed,
            )
        )
    rows.append(("overall", *_in_words(results.metrics.get("overall")), "–", None, None, None))
    print_table(
        f"{configuration.model} on {results.provenance.benchmark}, image: {configuration.ablation}",
        ("format", "mean", "95 % interval", "n", "chance", "unparsed", "refused", "failed"),
        rows,
    )
    for warning in results.warnings:
        print_text(f"Note: {warning}")
    print_text(f"Run {'complete' if results.complete else 'INCOMPLETE'}: {out}")


def _in_words(metric: Metric | None) -> tuple[str, str, int]:
    if metric is None:
        return "–", "–", 0
    interval = f"{metric.ci95[0]:.3f} to {metric.ci95[1]:.3f}" if metric.ci95 is not None else "–"
    return f"{metric.mean:.3f}", interval, metric.n

"""Runs as HTML: the table with intervals on one axis, the heat map, outcomes and answer places."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

from curator_app.components.item_html import FORMAT_NAMES
from evaluation.items import ITEM_FORMATS
from evaluation.vqa import Metric, VqaResults
from pipeline.run_details import Cell, DisputedItem, PlaceCounts, TrueRate

CELL_SEPARATOR = "\x1f"
"""Between category and organ in the value of a heat map's cell."""

HEAT_COLOUR = "#0B6B6B"
HEAT_SHARE = (6, 60)
"""Per cent of the colour in cells that score 0 and 1: pale enough for dark numbers (6:1) in both themes."""

HEAT_INK = "#1B2126"

_NAMES = {**FORMAT_NAMES, "overall": "Overall"}


@dataclass(frozen=True)
class RunRow:
    """A run as the table shows it; `notes` say in which way it differs from the benchmark's whole."""

    id: str
    results: VqaResults
    notes: tuple[str, ...]

    @property
    def model(self) -> str:
        """The model under test."""
        return self.results.provenance.configuration.model

    @property
    def is_baseline(self) -> bool:
        """Whether the model is built in and no language model."""
        return not self.results.provenance.model_is_language_model

    @property
    def overall(self) -> float:
        """The overall score; -1 where nothing was scored, so that it stands last."""
        metric = self.results.metrics.get("overall")
        return metric.mean if metric else -1.0


def in_table_order(rows: Sequence[RunRow]) -> list[RunRow]:
    """Return language models by overall score, then baselines likewise."""
    return sorted(rows, key=lambda row: (row.is_baseline, -row.overall, row.model, row.id))


def run_table(rows: Sequence[RunRow], *, chosen: str | None) -> str:
    """Return the table of runs; choosing a row gives its run id."""
    ticks = '<span class="ticks"><span>0</span><span>0.5</span><span>1</span></span>'
    head = "".join(f'<th scope="col">{_NAMES[name]}{ticks}</th>' for name in (*ITEM_FORMATS, "overall"))
    body = []
    seen_baseline = False
    for row in in_table_order(rows):
        first = row.is_baseline and not seen_baseline
        seen_baseline |= row.is_baseline
        kind = f"baseline{' first' if first else ''}" if row.is_baseline else ""
        metrics, chance = row.results.metrics, row.results.chance
        cells = "".join(f"<td>{_metric(metrics.get(name), chance.get(name))}</td>" for name in ITEM_FORMATS)
        cells += f"<td>{_metric(metrics.get('overall'), None)}</td>"
        body.append(
            f'<tr class="{kind}" data-choose="{escape(row.id)}" '
            f'aria-selected="{str(row.id == chosen).lower()}"><td><button type="button" '
            f'data-choose="{escape(row.id)}">{escape(row.model)}</button>{_notes(row)}</td>{cells}</tr>'
        )
    return (
        '<div class="scroll"><table><caption>Mean score with its 95 % interval; all bars on one axis from 0 to 1. '
        "● mean · ○ mean of a baseline · ┆ chance. Choose a row to look inside.</caption>"
        f'<thead><tr><th scope="col">Model</th>{head}</tr></thead><tbody>{"".join(body)}</tbody></table></div>'
    )


def _notes(row: RunRow) -> str:
    notes = list(row.notes)
    if row.is_baseline:
        notes.insert(0, "baseline, no language model")
    if not row.results.complete:
        failed = row.results.n_failed
        notes.insert(0, f"▲ incomplete: {failed} {'item' if failed == 1 else 'items'} failed")
    return "".join(f'<div class="note">{escape(note)}</div>' for note in notes)


def _metric(metric: Metric | None, chance: float | None) -> str:
    line = f'<span class="chance" style="left:{100 * chance:.2f}%"></span>' if chance is not None else ""
    if metric is None:
        return f'<span class="value">–</span><span class="axis" aria-hidden="true">{line}</span>'
    interval, span = "", ""
    if metric.ci95 is not None:
        low, high = metric.ci95
        interval = f" {low:.2f}–{high:.2f}"
        span = f'<span class="span" style="left:{100 * low:.2f}%;width:{100 * (high - low):.2f}%"></span>'
    mean = f'<span class="mean" style="left:{100 * metric.mean:.2f}%"></span>'
    return (
        f'<span class="value"><b>{metric.mean:.2f}</b><span class="note">{interval} n {metric.n}</span></span>'
        f'<span class="axis" aria-hidden="true">{line}{span}{mean}</span>'
    )


def heat_table(
    cells: Mapping[tuple[str, str], Cell], *, names: Mapping[str, str], chosen: tuple[str, str] | None
) -> str:
    """Return category × organ as a table; choosing a cell gives both, joined by CELL_SEPARATOR."""
    organs = sorted({organ for _, organ in cells})
    categories = sorted({category for category, _ in cells})
    head = "".join(f'<th scope="col">{escape(organ.replace("_", " "))}</th>' for organ in organs)
    rows = []
    for category in categories:
        inside = "".join(_heat_cell(cells, category, organ, chosen) for organ in organs)
        rows.append(f'<tr><th scope="row">{escape(names.get(category, category))}</th>{inside}</tr>')
    return (
        '<p class="note">Mean score by category and organ (each format weighs the same), with the number of '
        'items. Choose a cell: its items appear below.</p><div class="scroll"><table class="heat">'
        f"<thead><tr><th></th>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
    )


def _heat_cell(cells: Mapping[tuple[str, str], Cell], category: str, organ: str, chosen: tuple[str, str] | None) -> str:
    cell = cells.get((category, organ))
    if cell is None:
        return '<td class="none">–</td>'
    low, high = HEAT_SHARE
    ground = f"color-mix(in srgb, {HEAT_COLOUR} {low + (high - low) * cell.mean:.0f}%, #fff)"
    pressed = str((category, organ) == chosen).lower()
    return (
        f'<td><button type="button" data-choose="{escape(category + CELL_SEPARATOR + organ)}" '
        f'aria-pressed="{pressed}" style="--ground:{ground};--ink:{HEAT_INK}">'
        f"{cell.mean:.2f}<small>n {cell.n}</small></button></td>"
    )


def disputed_table(
    items: Sequence[DisputedItem],
    *,
    models: Mapping[str, str],
    names: Mapping[str, str],
    chosen: str | None,
) -> str:
    """Return items with every run's score; choosing a row gives its item id."""
    head = "".join(f'<th scope="col" class="number">{escape(model)}</th>' for model in models.values())
    rows = []
    for item in items:
        scores = "".join(f'<td class="number">{_score(item, run_id)}</td>' for run_id in models)
        rows.append(
            f'<tr data-choose="{escape(item.item_id)}" '
            f'aria-selected="{str(item.item_id == chosen).lower()}"><td><button type="button" '
            f'data-choose="{escape(item.item_id)}">{escape(item.row.question)}</button>'
            f'<div class="note">{FORMAT_NAMES[item.row.question_type]} · '
            f"{escape(names.get(item.row.category, item.row.category))} · {escape(item.row.organ)}</div></td>"
            f"{scores}</tr>"
        )
    return (
        '<div class="scroll"><table><caption>Items on which the models differ most first, then the hardest.'
        f'</caption><thead><tr><th scope="col">Question</th>{head}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )


def _score(item: DisputedItem, run_id: str) -> str:
    if run_id not in item.scores:
        return "not asked"
    score = item.scores[run_id]
    return "failed" if score is None else f"{score:.2f}"


def outcomes_html(results: VqaResults) -> str:
    """Return how the answers of each format ended, as numbers and as bars."""
    rows = []
    for name, counts in results.outcomes.items():
        total = counts.scored + counts.unparsed + counts.refused + counts.failed
        cells = "".join(
            f"<td class='number'>{value:,}{_bar(value, total)}</td>"
            for value in (counts.scored, counts.unparsed, counts.refused, counts.failed)
        )
        asked = results.items[name]
        rows.append(
            f"<tr><td>{FORMAT_NAMES[name]}</td>{cells}<td class='number'>{asked.scored:,} / {asked.asked:,}</td></tr>"
        )
    heads = "".join(
        f"<th class='number'>{word}</th>" for word in ("Scored", "Unparsed", "Refused", "Failed", "Items scored")
    )
    return (
        f'<table class="hc-table"><thead><tr><th>Answers</th>{heads}</tr></thead><tbody>{"".join(rows)}</tbody></table>'
    )


def _bar(value: int, total: int, mark: float | None = None) -> str:
    share = 100 * value / total if total else 0
    line = f'<i style="left:{mark:.1f}%"></i>' if mark is not None else ""
    return f'<span class="hc-share" aria-hidden="true"><b style="width:{share:.1f}%"></b>{line}</span>'


def places_html(places: PlaceCounts | None, truths: TrueRate | None) -> str:
    """Return how replies spread over the places A to E, and how often KPrim verdicts were “true”."""
    parts = []
    if places is not None:
        total = sum(places.answered.values())
        rows = "".join(
            f"<tr><td>{letter}</td><td class='number'>{answered:,}</td>"
            f"<td class='number'>{places.right_there[letter]:,}</td>"
            f"<td class='wide'>{_bar(answered, total, _percent(places.right_there[letter], total))}</td></tr>"
            for letter, answered in places.answered.items()
        )
        parts.append(
            '<table class="hc-table"><thead><tr><th>MCQ place</th><th class="number">Answered</th>'
            '<th class="number">Right there</th><th class="wide">Bar: answered · line: right there</th></tr></thead>'
            f"<tbody>{rows}</tbody></table>"
        )
    if truths is not None and truths.n:
        said, are = _percent(truths.said_true, truths.n), _percent(truths.are_true, truths.n)
        parts.append(
            f'<p class="hc-check">KPrim verdicts: said true {truths.said_true:,} of {truths.n:,} ({said:.0f} %); '
            f"{truths.are_true:,} are true ({are:.0f} %).</p>{_bar(truths.said_true, truths.n, are)}"
        )
    return "".join(parts) or '<p class="hc-facts">No MCQ or KPrim answer was read.</p>'


def _percent(value: int, total: int) -> float:
    return 100 * value / total if total else 0.0

"""A selection as HTML: its numbers, its bins as a table, and the pick among random picks as a histogram."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from importlib import resources

from pipeline.bin_sheets import BinSheet
from pipeline.diversity import DiversityReport
from pipeline.selection import SelectionNumbers

_RIGHT_HALF = 50
"""From here on, in per cent of the axis, the pick's words stand to the left of its line."""


def selection_style() -> str:
    """Return the style of what this module draws, for st.html."""
    return f"<style>{resources.files('curator_app.components').joinpath('selection.css').read_text('utf-8')}</style>"


def numbers_html(numbers: SelectionNumbers) -> str:
    """Return the numbers of a selection as a list."""
    magnifications = ", ".join(f"{count:,} at {name}" for name, count in sorted(numbers.by_magnification.items()))
    rejected = ", ".join(f"{count:,} {reason}" for reason, count in numbers.rejected.items())
    facts = {
        "Selected": f"{numbers.selected:,} of {numbers.candidates:,}"
        + (f" ({magnifications})" if magnifications else ""),
        "Bins covered": f"{numbers.bins_covered} of {len(numbers.bins)}",
        "Quotas filled": f"{numbers.quotas_filled} of {len(numbers.bins)}",
        "Slides": f"{numbers.slides:,} of {numbers.all_slides:,}",
        "Studies": f"{numbers.studies:,} of {numbers.all_studies:,}" if numbers.all_studies else "none named",
        "Rejected": f"{sum(numbers.rejected.values()):,}" + (f" ({rejected})" if rejected else ""),
    }
    listed = "".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in facts.items())
    return f'<dl class="hc-numbers">{listed}</dl>'


def bins_table(bins: Sequence[BinSheet]) -> str:
    """Return a table with a row for each bin."""
    heads = ("Bin", "ROIs", "Slides", "Studies", "Silhouette", "Artefacts", "Picked", "Quota", "State")
    head = "".join(f'<th scope="col">{name}</th>' for name in heads)
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in _cells(sheet))}</tr>" for sheet in bins)
    return f'<table class="hc-bins"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'


def _cells(sheet: BinSheet) -> tuple[str, ...]:
    covered = "✓ quota filled" if not sheet.open else "◐ covered" if sheet.covered else "○ not covered"
    return (
        str(sheet.number),
        f"{sheet.size:,}",
        f"{sheet.slides:,}",
        f"{sheet.studies:,}",
        "–" if sheet.silhouette is None else f"{sheet.silhouette:.2f}".replace("-", "−"),
        f"{sheet.artefact_share:.0%}",
        f"{sheet.selected:,}",
        f"{sheet.quota:,}",
        covered + (" · △ rich in artefacts" if sheet.artefact_rich else ""),
    )


def histogram_html(report: DiversityReport) -> str:
    """Return the random picks' Vendi Scores as a histogram, with the pick as a line."""
    histogram, picked = report.histogram, report.vendi.picked
    low, high = min(histogram.start, picked), max(histogram.stop, picked)
    margin = 0.03 * (high - low) or 1.0
    low, high = low - margin, high + margin

    def place(value: float) -> float:
        return 100 * (value - low) / (high - low)

    most = max(histogram.counts) or 1
    step = (histogram.stop - histogram.start) / len(histogram.counts)
    width = max(0.2, 0.9 * (place(histogram.start + step) - place(histogram.start)))
    bars = "".join(
        f'<span class="bar" style="left:{place(histogram.start + number * step):.2f}%;width:{width:.2f}%;'
        f'height:{100 * count / most:.1f}%"></span>'
        for number, count in enumerate(histogram.counts)
        if count
    )
    at = place(picked)
    side = " right" if at > _RIGHT_HALF else ""
    said = (
        f"The pick has a Vendi Score of {picked:.2f}; {report.random_picks:,} random picks have "
        f"{report.vendi.mean:.2f} on average, 95 % of them {report.vendi.low:.2f} to {report.vendi.high:.2f}."
    )
    return (
        f'<div class="hc-histogram" role="img" aria-label="{escape(said)}">{bars}'
        f'<span class="pick{side}" style="left:{at:.2f}%"><span>this pick {picked:.2f}</span></span></div>'
        f'<p class="hc-axis"><span>{low:.2f}</span><span>Vendi Score of {report.random_picks:,} random picks of '
        f"{report.rois} ROIs ({escape(report.encoder)})</span><span>{high:.2f}</span></p>"
    )

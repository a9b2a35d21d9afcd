"""Writes items on something that is not there: over-reading probes and false statements of presence."""

from __future__ import annotations

from evaluation.models._offline._findings import AbsentFinding
from evaluation.models._offline._material import Choice, Claim, FreeTextMaterial, KPrimMaterial, McqMaterial
from evaluation.models._offline._stems import Stems

_SHARES = ("0 %", "20 %", "40 %", "60 %", "80 %")
_QUARTERS = ("Upper left quarter", "Upper right quarter", "Lower left quarter", "Lower right quarter")
_ABSENT_WORDINGS = ("none", "not present", "not seen", "grade 0")
_ELSEWHERE = "Outside this field"
_ZONES = ("upper half", "lower half", "left half", "right half", "centre", "upper edge", "lower edge")


class AbsentWriter:
    """Material for a seed that says that `finding.target` is absent."""

    def __init__(self, finding: AbsentFinding, stems: Stems, attempt: int) -> None:
        self._target = finding.target
        self._is_normal = finding.is_normal
        self._is_gradable = finding.is_gradable
        self._stems = stems
        self._attempt = attempt
        self._reason = (
            "The tissue was recorded as within normal limits."
            if finding.is_normal
            else f"For this image it was recorded that there is no {finding.target}."
        )

    def mcq(self) -> McqMaterial:
        """Ask for the grade, the share or the place, with absence as one value of the scale."""
        ways = [self._by_share, self._by_quarter]
        if self._is_gradable:
            ways.insert(0, self._by_grade)
        return ways[self._attempt % len(ways)]()

    def kprim(self) -> KPrimMaterial:
        """State for parts of the image that they are spared, or that they are involved."""
        claims = []
        for zone in _ZONES:
            if self._attempt % 2 == 0:
                spared, involved = f"The {zone} is spared.", f"The {zone} is involved."
            else:
                spared, involved = f"Involvement of the {zone} measures 0 %.", f"Involvement of the {zone} exceeds 5 %."
            claims += [Claim(spared, True, self._reason, zone), Claim(involved, False, self._reason, zone)]
        question = f"to which extent does {self._target} involve the image?"
        return KPrimMaterial(self._stems.ask_for_statements(question), tuple(claims))

    def free_text(self) -> FreeTextMaterial:
        """Ask for the grade in a word."""
        what = "altered tissue" if self._is_normal else self._target
        return FreeTextMaterial(
            f"Examine {self._stems.image} and grade with one word (absent, minimal, slight, moderate, marked or "
            f"severe): which grade fits for {what}?",
            "Absent",
            (*_ABSENT_WORDINGS, f"no {what}", *(("within normal limits",) if self._is_normal else ())),
            "1 point for stating absence in any wording; no point for any degree of presence.",
        )

    def _by_grade(self) -> McqMaterial:
        # The stem names no value of the scale: one that it named would stand out among the options.
        what = "tissue alteration" if self._is_normal else self._target
        question = f"which step of a five-step scale of {what} fits, counted from absence up to a severe change?"
        key, *others = (f"Grade {grade}" for grade in range(5))
        return self._mcq(question, key, others)

    def _by_share(self) -> McqMaterial:
        key, *others = (f"About {share}" for share in _SHARES)
        return self._mcq(f"which share of the field is taken up by {self._target}?", key, others)

    def _by_quarter(self) -> McqMaterial:
        return self._mcq(f"where in the field is {self._target} found?", _ELSEWHERE, list(_QUARTERS))

    def _mcq(self, question: str, key: str, others: list[str]) -> McqMaterial:
        return McqMaterial(
            self._stems.ask(question),
            Choice(key, self._reason),
            tuple(Choice(other, f"Would mean that there is {self._target}.") for other in others),
        )

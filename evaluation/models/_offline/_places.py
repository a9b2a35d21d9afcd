"""Writes items whose answer is a part of the image."""

from __future__ import annotations

from evaluation.models._offline._findings import ZoneFinding
from evaluation.models._offline._material import Choice, Claim, FreeTextMaterial, KPrimMaterial, McqMaterial
from evaluation.models._offline._stems import Stems
from evaluation.models._offline._zones import other_zones, zone_claims, zone_name


class ZoneWriter:
    """Material for a seed whose answer is `finding.zone`."""

    def __init__(self, finding: ZoneFinding, stems: Stems) -> None:
        self._zone = finding.zone
        self._stems = stems
        self._name = zone_name(finding.zone)
        self._question = stems.question("location")

    def mcq(self) -> McqMaterial:
        """Ask for the zone among zones of the same kind."""
        key = Choice(self._name, "The feature asked about was recorded there.")
        distractors = tuple(
            Choice(zone_name(other), "This part of the image does not hold the centre of the feature.")
            for other in other_zones(self._zone)
        )
        return McqMaterial(self._stems.ask(self._question), key, distractors)

    def kprim(self) -> KPrimMaterial:
        """State on which side of the image, and how near to its edges, the feature lies."""
        reason = f"The feature was recorded here: {self._name.lower()}."
        claims = tuple(
            Claim(f"The feature in question {claim.text}.", claim.holds, reason, claim.axis)
            for claim in zone_claims(self._zone)
        )
        return KPrimMaterial(self._stems.ask_for_statements(self._question), claims)

    def free_text(self) -> FreeTextMaterial:
        """Ask for the zone in words."""
        return FreeTextMaterial(
            f"Examine {self._stems.image} and name the part of the image (for instance 'lower edge'): {self._question}",
            self._name,
            _other_wordings(self._name),
            f"1 point for {self._name.lower()!r} or an equal wording; no point where the side or height is wrong.",
        )


def _other_wordings(name: str) -> tuple[str, ...]:
    words = name.lower()
    swapped = words.replace("upper", "top").replace("lower", "bottom")
    american = words.replace("centre", "center")
    bare = words.removeprefix("exact ").removeprefix("image ")
    return tuple(dict.fromkeys(text for text in (swapped, american, bare) if text != words))

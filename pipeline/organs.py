"""Which organ system and structure an organ belongs to: a file says it, and what it does not say is not guessed."""

from __future__ import annotations

from typing import Self

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator

from assets import text as asset_text
from pipeline.errors import InputError
from pipeline.workspace import Workspace

_SHIPPED = "organs.json"


class OrganPlace(BaseModel):
    """The organ system of an organ, and the name of the structure as a benchmark writes it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    system: str
    structure: str


class OrganMap(BaseModel):
    """The organ systems that there are, and the organs whose place is known, by the name that slides store.

    The one that ships has the seven systems and 23 structures of VIPER (appendix table 1).
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    systems: tuple[str, ...]
    organs: dict[str, OrganPlace]
    source: str = ""

    @model_validator(mode="after")
    def _systems_are_known(self) -> Self:
        strange = sorted({place.system for place in self.organs.values()} - set(self.systems))
        if strange:
            raise ValueError(f"organs name systems that “systems” does not list: {', '.join(strange)}")
        return self

    def place(self, organ: str) -> OrganPlace | None:
        """Return where an organ belongs, None where the file does not say."""
        return self.organs.get(organ)

    def system_named(self, name: str) -> str:
        """Return an organ system as the file spells it; case does not matter.

        Raises:
            InputError: there is none of this name.
        """
        for system in self.systems:
            if system.casefold() == name.casefold():
                return system
        raise InputError(f"organ system {name!r} is unknown (known: {', '.join(self.systems)})")


def organ_map(workspace: Workspace) -> OrganMap:
    """Return the mapping that the setting `organs_file` names, else the one that ships.

    Raises:
        InputError: the named file is missing, no JSON, or has another form than the one that ships.
    """
    named = workspace.settings.organs_file
    if named is None:
        return OrganMap.model_validate_json(asset_text(_SHIPPED))
    file = named if named.is_absolute() else workspace.root / named
    try:
        return OrganMap.model_validate_json(file.read_bytes())
    except OSError as error:
        raise InputError(f"{file}, which the setting organs_file names, cannot be read: {_reason(error)}") from None
    except ValidationError as error:
        faults = [": ".join([*map(str, fault["loc"]), fault["msg"]]) for fault in error.errors()]
        raise InputError(f"{file}, which the setting organs_file names, has faults:", faults) from None


def _reason(error: OSError) -> str:
    return error.strerror or str(error)

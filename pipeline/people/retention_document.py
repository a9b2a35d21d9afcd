"""`python -m pipeline.people.retention_document` writes docs/privacy.md: what is kept of people, and for how long."""

from __future__ import annotations

import sys

from pipeline.people._retention import retention_rules
from pipeline.settings import Settings

_HEAD = """\
# What is kept of people

Written from the rules in the code by `make docs`, with the default settings. `histocurator retention` shows the rules
of a workspace; the settings stand in its `settings.toml`.

| what | how long | setting | why |
|---|---|---|---|
"""

_FOOT = """
The server deletes once a day what was kept long enough; `histocurator retention --apply` does it at once and says how
much. Copies of the database in `copies/`, and backups of the folder, keep what they hold: delete those yourself.

`histocurator users close NAME --reason … --forget-name` closes an account and replaces the display name by the
pseudonym. What the person wrote, decided and signed stays, under the sign-in name: an audit trail that forgets is
none. A `signature.json` that was published with a release keeps the name that it was signed with; in the
workspace it shows the present one after the next signature.
"""


def retention_document() -> str:
    """Return docs/privacy.md; variables of the environment do not count."""
    rows = [
        f"| {rule.what} | {rule.how_long} | {f'`{rule.setting}`' if rule.setting else '–'} | {rule.why} |"
        for rule in retention_rules(Settings.model_construct())
    ]
    return "\n".join([_HEAD + rows[0], *rows[1:], _FOOT])


if __name__ == "__main__":
    sys.stdout.write(retention_document())

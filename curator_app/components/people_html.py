"""Accounts, links, permissions and what is kept of people, as tables; every text in them is escaped."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from html import escape

from curator_app.layout import local_time, mark
from pipeline.people import InvitationRow, Kept, PersonRow
from pipeline.permissions import GRANTS, Permission, Role


def role_words(roles: Collection[Role]) -> str:
    """Return roles in the order of the permission table, or that there are none."""
    return ", ".join(role.value for role in Role if role in roles) or "no role"


def people_table(people: Sequence[PersonRow], *, chosen: str | None = None, can_choose: bool = False) -> str:
    """Return open accounts; with `can_choose`, choosing a row gives the account's name."""
    rows = "".join(_person(person, chosen=chosen, can_choose=can_choose) for person in people)
    heads = ("Name", "Pseudonym", "Roles", "Signs in by", "Last seen")
    head = "".join(f'<th scope="col">{name}</th>' for name in heads)
    return (
        f'<div class="scroll hc-scroll"><table class="hc-table"><thead><tr>{head}'
        f'<th scope="col" class="number">Sessions</th></tr></thead><tbody>{rows}</tbody></table></div>'
    )


def _person(person: PersonRow, *, chosen: str | None, can_choose: bool) -> str:
    name, shown = escape(person.name), escape(person.display_name)
    row, label = "<tr>", shown
    if can_choose:
        row = f'<tr data-choose="{name}" aria-selected="{str(person.name == chosen).lower()}">'
        label = f'<button type="button" data-choose="{name}">{shown}</button>'
    seen = local_time(person.last_seen_at) if person.last_seen_at else "never"
    return (
        f'{row}<td>{label}<div class="note why">{name}</div></td><td>{escape(person.pseudonym)}</td>'
        f"<td>{escape(role_words(person.roles))}</td><td>{escape(person.signs_in_by)}</td><td>{seen}</td>"
        f'<td class="number">{person.sessions}</td></tr>'
    )


def closed_table(people: Sequence[PersonRow]) -> str:
    """Return closed accounts with when and why."""
    rows = "".join(
        f'<tr><td>{escape(person.display_name)}<div class="why">{escape(person.name)}</div></td>'
        f"<td>{escape(person.pseudonym)}</td><td>{escape(role_words(person.roles))}</td>"
        f"<td>{mark('closed')} {local_time(person.closed_at) if person.closed_at else ''}</td>"
        f"<td>{escape(person.closed_because or '')}</td></tr>"
        for person in people
    )
    return (
        '<div class="hc-scroll"><table class="hc-table"><thead><tr><th>Name</th><th>Pseudonym</th>'
        f"<th>Had the roles</th><th>State</th><th>Why</th></tr></thead><tbody>{rows}</tbody></table></div>"
    )


def link_words(link: InvitationRow) -> str:
    """Return what a link is for, whom, and until when."""
    whom = f" for {escape(link.display_name)}" if link.display_name else ""
    return f"<strong>{escape(link.purpose)}</strong>{whom}: {escape(role_words(link.roles))}"


def links_table(links: Sequence[InvitationRow]) -> str:
    """Return links that no longer work, and why."""
    rows = "".join(
        f"<tr><td>{link_words(link)}</td><td>{mark(link.state)}</td><td>{escape(link.used_by or '–')}</td>"
        f"<td>{escape(link.created_by)}</td><td>{local_time(link.expires_at)}</td></tr>"
        for link in links
    )
    return (
        '<div class="hc-scroll"><table class="hc-table"><thead><tr><th>Link</th><th>State</th><th>Used by</th>'
        f"<th>Made by</th><th>Worked until</th></tr></thead><tbody>{rows}</tbody></table></div>"
    )


def permissions_table() -> str:
    """Return who may do what."""
    heads = "".join(f'<th scope="col">{role.value}</th>' for role in Role)
    rows = "".join(
        f'<tr><th scope="row">{escape(permission)}</th>'
        + "".join(f"<td>{'✓ yes' if role in GRANTS[permission] else '–'}</td>" for role in Role)
        + "</tr>"
        for permission in Permission
    )
    return (
        f'<div class="hc-scroll"><table class="hc-table hc-permissions"><thead><tr><th scope="col">Act</th>{heads}</tr>'
        f"</thead><tbody>{rows}</tbody></table></div>"
    )


def kept_table(rules: Sequence[Kept]) -> str:
    """Return what is kept of people, how long and what for."""
    rows = "".join(
        f"<tr><td>{escape(rule.what)}</td><td>{escape(rule.how_long)}</td><td>{escape(rule.why)}</td></tr>"
        for rule in rules
    )
    return (
        '<div class="hc-scroll"><table class="hc-table"><thead><tr><th>What</th><th>How long</th><th>What for</th></tr>'
        f"</thead><tbody>{rows}</tbody></table></div>"
    )

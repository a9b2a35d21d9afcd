"""The HTML of the pages of signing in: whole without a script, and nothing in it comes from elsewhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from html import escape
from urllib.parse import quote

from pipeline.people import MAX_DISPLAY_NAME, NAME_RULE, PASSWORD_RULE, Offer
from pipeline.permissions import ROLE_WORDS

MAX_NAME = 100
"""Characters that the field of a sign-in name takes; longer than any name, for the spaces around it."""

_WHOLE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{title} · Histocurator</title>
<link rel="icon" type="image/svg+xml" href="/vendor/icon.svg"><link rel="stylesheet" href="/vendor/account.css">
<script src="/vendor/unsent.js" defer></script><script src="/vendor/account.js" defer></script></head>
<body><main><p class="app"><img src="/vendor/icon.svg" alt="" width="24" height="24">Histocurator</p>
<h1>{title}</h1>
{body}
</main></body></html>
"""


@dataclass(frozen=True)
class Field:
    """One labelled field of a form; `autocomplete` tells a password manager what it is."""

    name: str
    label: str
    autocomplete: str
    value: str = ""
    hint: str = ""
    longest: int | None = None
    focus: bool = False
    fixed: bool = False

    @property
    def secret(self) -> bool:
        """Whether it is a password, which is never shown again."""
        return self.autocomplete.endswith("password")


def sign_in_page(
    *, token: str, name: str, next_page: str, provider_name: str | None, ended: bool, faults: Mapping[str, str]
) -> str:
    """Return the page that asks for name and password.

    Args:
        token: the form's.
        name: what was typed before.
        next_page: where one goes afterwards.
        provider_name: what the link to the identity provider says, if there is one.
        ended: whether it is asked again because the session ended.
        faults: what was wrong, by field.
    """
    fields = [
        Field("name", "Sign-in name", "username", value=name, longest=MAX_NAME, focus=not name),
        Field("password", "Password", "current-password", focus=bool(name)),
    ]
    said = _said("Your session has ended. Sign in again to go on; what you typed is kept.") if ended else ""
    provider = (
        f'<p class="or"><span>or</span></p><p><a class="button" href="/sign-in/provider?next={quote(next_page)}">'
        f"Sign in with {escape(provider_name)}</a></p>"
        if provider_name
        else ""
    )
    foot = '<p class="small">Forgotten the password? An administrator of this workspace can send you a new link.</p>'
    form = _form("/sign-in", "Sign in", fields, token=token, hidden={"next": next_page}, faults=faults)
    return _page("Sign in", said + form + provider + foot)


def invitation_page(
    offer: Offer,
    *,
    path: str,
    token: str,
    faults: Mapping[str, str],
    typed: Mapping[str, str],
    signed_in_as: str | None,
) -> str:
    """Return the page behind a link: for a new account, or for a new password.

    Args:
        offer: what the link is for.
        path: the link's own address.
        token: the form's.
        faults: what was wrong, by field.
        typed: what was typed before, but for passwords.
        signed_in_as: who uses this browser now and will be signed out of it.
    """
    now = (
        f'<p class="note">This browser is signed in as {escape(signed_in_as)}, which ends when you go on.</p>'
        if signed_in_as
        else ""
    )
    until = offer.expires_at.astimezone()
    once = f'<p class="small">The link works once, until {_time(until)}.</p>'
    if offer.name is not None:
        said = f"<p>For the account <strong>{escape(offer.name)}</strong>. You will be signed out everywhere else.</p>"
        fields = [Field("name", "Sign-in name", "username", value=offer.name, fixed=True), *_new_password(focus=True)]
        return _page(
            "Set a new password",
            said + now + _form(path, "Set the password", fields, token=token, faults=faults) + once,
        )
    roles = "".join(f"<li><strong>{role}</strong>: {escape(ROLE_WORDS[role])}</li>" for role in offer.roles)
    said = f"<p>You are invited to this workspace as</p><ul>{roles}</ul>"
    fields = [
        Field(
            "name",
            "Sign-in name",
            "username",
            value=typed.get("name", ""),
            hint=f"{NAME_RULE}. It stays for ever.",
            longest=MAX_NAME,
            focus=True,
        ),
        Field(
            "display_name",
            "Your name, as colleagues read it",
            "name",
            value=typed.get("display_name", offer.display_name),
            longest=MAX_DISPLAY_NAME,
        ),
        *_new_password(),
    ]
    return _page(
        "Make your account", said + now + _form(path, "Make the account", fields, token=token, faults=faults) + once
    )


def password_page(*, name: str, token: str, faults: Mapping[str, str], changed: bool) -> str:
    """Return the page on which somebody changes their own password."""
    said = _said("The password is changed. Your other sessions have ended.") if changed else ""
    fields = [
        Field("name", "Sign-in name", "username", value=name, fixed=True),
        Field("password", "Current password", "current-password", focus=True),
        *_new_password(),
    ]
    form = _form("/password", "Change the password", fields, token=token, faults=faults)
    back = '<p class="small"><a href="/my-account">Back to My account</a></p>'
    return _page("Change your password", said + form + back)


def sign_out_page(*, token: str) -> str:
    """Return the page that signs out by one button."""
    form = _form("/sign-out", "Sign out", [], token=token)
    return _page("Sign out", form + '<p class="small"><a href="/">Back to Histocurator</a></p>')


def message_page(title: str, message: str, *, link: str, words: str) -> str:
    """Return a page that says something and leads on."""
    return _page(title, f'<p role="alert">{escape(message)}</p><p><a href="{escape(link)}">{escape(words)}</a></p>')


def _page(title: str, body: str) -> str:
    return _WHOLE.format(title=escape(title), body=body)


def _time(moment: datetime) -> str:
    return f'<time datetime="{moment.isoformat()}">{moment:%Y-%m-%d %H:%M} {escape(moment.tzname() or "")}</time>'


def _said(words: str) -> str:
    return f'<p class="note" role="status">{escape(words)}</p>'


def _new_password(*, focus: bool = False) -> list[Field]:
    return [
        Field("new", "New password", "new-password", hint=f"{PASSWORD_RULE.capitalize()}.", focus=focus),
        Field("again", "New password again", "new-password"),
    ]


def _form(
    action: str,
    button: str,
    fields: Sequence[Field],
    *,
    token: str,
    hidden: Mapping[str, str] | None = None,
    faults: Mapping[str, str] | None = None,
) -> str:
    faults = faults or {}
    first_fault = next((field.name for field in fields if field.name in faults), None)
    unseen = "".join(
        f'<input type="hidden" name="{name}" value="{escape(value)}">'
        for name, value in {"token": token, **(hidden or {})}.items()
    )
    # Shown by the script: without one it could do nothing.
    show = '<p class="show" hidden><label><input type="checkbox"> Show what I type</label></p>'
    shown = "".join(_field(field, faults, first_fault) for field in fields)
    if any(field.secret for field in fields):
        shown += show
    return (
        f'<form method="post" action="{escape(action)}">{unseen}{_alert(faults)}{shown}'
        f'<p><button class="button first">{escape(button)}</button></p></form>'
    )


def _alert(faults: Mapping[str, str]) -> str:
    if not faults:
        return ""
    lines = "".join(f"<li>{escape(fault)}</li>" for fault in faults.values())
    return f'<ul class="faults" id="faults" role="alert">{lines}</ul>'


def _field(field: Field, faults: Mapping[str, str], first_fault: str | None) -> str:
    focus = field.focus if first_fault is None else field.name == first_fault
    described = [f"hint-{field.name}"] if field.hint else []
    attributes = {
        "id": field.name,
        "name": field.name,
        "type": "password" if field.secret else "text",
        "autocomplete": field.autocomplete,
        "value": field.value,
    }
    if field.autocomplete == "username":
        attributes |= {"autocapitalize": "none", "spellcheck": "false"}
    if field.longest is not None:
        attributes["maxlength"] = str(field.longest)
    if field.name in faults:
        attributes["aria-invalid"] = "true"
        described.append("faults")
    if described:
        attributes["aria-describedby"] = " ".join(described)
    listed = " ".join(f'{name}="{escape(value)}"' for name, value in attributes.items())
    flags = (" required" if not field.fixed and field.autocomplete != "name" else "") + (
        " readonly" if field.fixed else " autofocus" if focus else ""
    )
    hint = f'<span class="small" id="hint-{field.name}">{escape(field.hint)}</span>' if field.hint else ""
    return f'<p><label for="{field.name}">{escape(field.label)}</label><input {listed}{flags}>{hint}</p>'

"""Signing a release: what is signed, as whom, and the password again."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import streamlit as st

from curator_app.components import text_field, text_of
from curator_app.components.safety_html import HASH_CHARACTERS
from curator_app.layout import local_time, plain, refusals_shown, show_problems
from curator_app.rail import may_open, page_of
from curator_app.session import address, may, who, workspace
from curator_app.writings import draft_field, end_writing
from db.tables import Release
from pipeline.errors import InputError
from pipeline.people import MEANING, SignatureRow, SignInRefusedError, accounts_exist, find_account, sign_release
from pipeline.permissions import Permission

_MEANING = "sign_meaning"
"""Before the release's id: the text field of what the signature means."""

_PASSWORD = "sign_password"  # noqa: S105  (the name of a field)
_PROBLEM, _DONE = "sign_problem", "sign_done"


def signatures_html(signatures: Sequence[SignatureRow]) -> str:
    """Return who signed, as what, when and in which sense."""
    return "".join(
        f'<p class="hc-check"><span>✓</span> signed by <strong>{escape(one.display_name)}</strong> '
        f"({escape(one.name)}), {escape(one.role)}: {escape(one.meaning)} · {local_time(one.signed_at)}</p>"
        for one in signatures
    )


def sign_button(release: Release, signatures: Sequence[SignatureRow]) -> None:
    """Offer to sign a release to who may and has not yet."""
    if not may(Permission.SIGN_RELEASES) or any(one.name == who() for one in signatures):
        return
    if st.button("Sign", key=f"sign_{release.id}", help="Put your name under this release"):
        st.session_state.pop(_PROBLEM, None)
        title = f"Sign {plain(release.name)} {plain(release.version)}"
        # Drawn again as a whole when it is closed: a password that was typed goes with it.
        st.dialog(title, width="medium", on_dismiss="rerun")(sign_dialog)(release)


def sign_dialog(release: Release) -> None:
    """Say what is signed and ask for the password, or say why there is none to ask for."""
    with refusals_shown():
        if st.session_state.pop(_DONE, None) == release.id:
            st.rerun()
        account = find_account(workspace(), who())
        if account is None or account.password_hash is None:
            _no_password()
            return
        _form(release, f"{account.display_name} ({account.name})")


def _no_password() -> None:
    if accounts_exist(workspace()):
        st.markdown(
            "A signature asks for your password again, so that nobody else can give it. You sign in without one "
            "(single sign-on): somebody whose account has a password signs this release."
        )
        return
    st.markdown(
        f"A signature asks for a password, so that it is one person's own. **{plain(who())}** works on this computer "
        "without signing in: make the first account, then sign in and sign as that one."
    )
    if may_open("people"):
        st.page_link(page_of("people"), label="Make the first account")


def _form(release: Release, signer: str) -> None:
    rows = (
        ("Release", f"{release.name} {release.version}"),
        ("Holds", f"{release.item_count:,} items on {release.image_count:,} images"),
        ("Manifest", f"SHA-256 {release.content_sha256[:HASH_CHARACTERS]}…"),
        ("You sign as", signer),
    )
    facts = "".join(f"<dt>{name}</dt><dd>{escape(value)}</dd>" for name, value in rows)
    st.html(f'<dl class="hc-facts-list hc-grid">{facts}</dl>')
    draft = _draft(release.id)
    text_field(
        "What the signature means", key=f"{_MEANING}_{release.id}", own=MEANING, kept=draft_field(draft, "meaning")
    )
    with st.form("sign_form", border=False):
        st.text_input("Your password", type="password", key=_PASSWORD, autocomplete="off")
        with st.container(horizontal=True):
            st.form_submit_button(
                "Sign this release", type="primary", key="sign_confirm", on_click=_sign, args=(release.id,)
            )
            left = st.form_submit_button("Cancel", key="sign_cancel", on_click=_forget_password)
    if left:
        st.rerun()
    if (problem := st.session_state.pop(_PROBLEM, None)) is not None:
        show_problems(problem)
    st.html(
        '<p class="hc-facts">All files are compared with the manifest first. The signature stands in the audit trail '
        "and beside the manifest; it cannot be taken back.</p>"
    )


def _forget_password() -> None:
    st.session_state[_PASSWORD] = ""


def _sign(release_id: str) -> None:
    """Sign with the password, which is taken out of the field before anything else happens."""
    password = str(st.session_state[_PASSWORD] or "")
    st.session_state[_PASSWORD] = ""
    try:
        sign_release(
            workspace(),
            release_id,
            password=password,
            meaning=text_of(f"{_MEANING}_{release_id}"),
            address=address(),
        )
    except SignInRefusedError:
        st.session_state[_PROBLEM] = InputError("The password is wrong. Nothing was signed.")
        return
    except InputError as error:
        st.session_state[_PROBLEM] = error
        return
    end_writing(_draft(release_id))
    st.session_state[_DONE] = release_id


def _draft(release_id: str) -> str:
    return f"sign_{release_id}"

"""Releases: what would go in, what stands in the way, the card as it will look, building and verifying."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from html import escape
from pathlib import Path

import streamlit as st

from curator_app.components import Key
from curator_app.components.item_html import FORMAT_NAMES, item_style
from curator_app.components.safety_html import HASH_CHARACTERS, category_name
from curator_app.layout import (
    empty_state,
    go_to,
    key_label,
    local_time,
    organ_words,
    page_head,
    plain,
    refusals_shown,
    show_problems,
)
from curator_app.pages._sign_release import sign_button, signatures_html
from curator_app.rail import may_open
from curator_app.routes import archive_address, download_address, downloadable
from curator_app.session import may, who, workspace
from db.tables import Release
from pipeline.errors import InputError
from pipeline.people import list_signatures
from pipeline.permissions import Permission
from pipeline.release_folder import SIGNATURE_FILE, ManifestEntry, manifest_files
from pipeline.releases import (
    ANNOTATION_LICENCE,
    MANIFEST_FILE,
    Gate,
    build_release,
    dataset_card,
    list_releases,
    release_gate,
    verify_release,
)

KEYS = (Key("b", "build the release", button="build"),)

FIRST_NAME, FIRST_VERSION = "benchmark", "0.1.0"

_NAME, _VERSION, _LICENCE = "release_name", "release_version", "release_licence"
_BUILT = "release_built"
_VERIFIED = "release_verified"

_MENDED_ON = {"no item": ("items", "Review items"), "slide ": ("slides", "Open Slides")}
"""By how a problem begins: the page where it is mended and the button's words; ROIs are mended on their own."""

_ROI_PAGE = ("sample_rois", "Open Sample ROIs")


def show() -> None:
    """Draw the page."""
    purpose = "Freeze approved items as a benchmark that opens with the usual tools"
    page_head("Releases", purpose, keys=KEYS if may(Permission.BUILD_RELEASES) else ())
    st.html(item_style())
    gate = release_gate(workspace())
    releases = list_releases(workspace())
    # A fragment: typing a name draws this part alone and does not hash every image again.
    st.fragment(_next_release)(gate)
    st.subheader(f"Releases of this workspace · {len(releases)}", anchor=False)
    if not releases:
        st.html('<p class="hc-facts">None yet. The first one appears here with its files.</p>')
    for release in releases:
        _release(release)


def _next_release(gate: Gate) -> None:
    """Draw contents, gate, names and card."""
    with refusals_shown():
        _contents_and_card(gate)


def _contents_and_card(gate: Gate) -> None:
    left, right = st.columns([1, 1], gap="large")
    with left:
        st.subheader("Next release", anchor=False)
        _checklist(gate)
        if gate.entries and may(Permission.BUILD_RELEASES):
            _form(gate)
        _built()
    with right:
        if gate.entries:
            st.subheader("Card as it will look", anchor=False)
            _card(gate)
        else:
            empty_state(
                "Nothing to release yet.",
                "A release holds approved items. Review items first; they appear here as you approve them.",
            )


def _checklist(gate: Gate) -> None:
    """Show the steps to a release, each with a shape and a word, and a link to where a fault is mended."""
    entries = gate.entries
    fresh = sum(entry.item.state == "approved" for entry in entries)
    images = len({entry.roi.id for entry in entries})
    contents = f"{_items(len(entries))} on {images} {'image' if images == 1 else 'images'}"
    if entries:
        contents += f"; {fresh} of them in no release yet" if fresh else "; all of them are in a release already"
    _step(bool(entries), "Contents", contents)
    if entries:
        rows = (
            _counts("Format", (FORMAT_NAMES[entry.item.format] for entry in entries)),
            _counts("Organ", (organ_words(entry.roi.organ) for entry in entries)),
            _counts("Category", (category_name(entry.seed.category) for entry in entries)),
        )
        st.html(f'<dl class="hc-facts-list hc-grid hc-counts">{"".join(rows)}</dl>')
    faults = [problem for problem in gate.problems if entries or not problem.startswith("no item")]
    if entries:
        words = "every image is the selected one, with source and licence"
        must = "what every release must meet"
        _step(not faults, "Gate", f"({must}) {f'{len(faults)} to mend' if faults else words}")
    for number, problem in enumerate(gate.problems):
        page, link = next((to for start, to in _MENDED_ON.items() if problem.startswith(start)), _ROI_PAGE)
        with st.container(horizontal=True, vertical_alignment="center", key=f"fault_{number}"):
            st.markdown(f"✕ {plain(problem)}")
            if may_open(page) and st.button(link, key=f"mend_{number}"):
                go_to(page)


def _step(done: bool, title: str, words: str) -> None:
    sign = "✓" if done else "○"
    st.html(f'<p class="hc-check"><span>{sign}</span> <strong>{title}</strong> {escape(words)}</p>')


def _counts(title: str, values: Iterable[str]) -> str:
    cells = "".join(f"<span>{escape(name)} <b>{n}</b></span>" for name, n in sorted(Counter(values).items()))
    return f'<dt>{title}</dt><dd class="hc-strip">{cells}</dd>'


def _items(number: int) -> str:
    return f"{number} item" if number == 1 else f"{number} items"


def _named() -> tuple[str, str, str]:
    """Return name, version and licence as they are typed now, at first what is likely wanted."""
    known = list_releases(workspace())
    name = known[0].name if known else re.sub(r"[^a-z0-9._-]+", "-", workspace().root.name.lower()).strip("._-")
    st.session_state.setdefault(_NAME, name or FIRST_NAME)
    st.session_state.setdefault(_VERSION, next_version([release.version for release in known]))
    st.session_state.setdefault(_LICENCE, ANNOTATION_LICENCE)
    return st.session_state[_NAME], st.session_state[_VERSION], st.session_state[_LICENCE]


def next_version(known: Sequence[str]) -> str:
    """Return the version after the newest of the form 1.2.3 (the middle number grows), or the first one."""
    for version in known:
        if match := re.fullmatch(r"(\d+)\.(\d+)\.(\d+)", version):
            return f"{match[1]}.{int(match[2]) + 1}.0"
    return FIRST_VERSION


def _form(gate: Gate) -> None:
    with st.container(horizontal=True, key="release_names"):
        name, version, licence = _named()
        st.text_input("Name (a–z, 0–9, . - _)", key=_NAME, width=190)
        st.text_input("Version", key=_VERSION, width=100)
        st.text_input("Licence of questions and keys", key=_LICENCE, width=200)
    words = f"Build {plain(name)} {plain(version)} of {_items(len(gate.entries))}"
    fresh = any(entry.item.state == "approved" for entry in gate.entries)
    pressed = st.button(
        key_label(words, "b"),
        key="build",
        type="primary" if fresh else "secondary",
        disabled=bool(gate.problems),
    )
    st.html(
        '<p class="hc-facts">Freezes the current version of these items. They become “released” and can then '
        "only be withdrawn, not edited: there is no undo. The release is <strong>unsigned</strong>.</p>"
    )
    if not pressed:
        return
    st.session_state.pop(_BUILT, None)
    try:
        with st.spinner("Writing and hashing files"):
            result = build_release(workspace(), name=name, version=version, annotation_licence=licence, who=who())
    except InputError as error:
        show_problems(error)
        return
    st.session_state[_BUILT] = (result.release.id, result.existed)
    st.session_state.pop(_VERSION)
    st.rerun()


def _built() -> None:
    built = st.session_state.get(_BUILT)
    if built is None:
        return
    existed = "It was there already with the same content; nothing changed." if built[1] else ""
    st.success(f"Built. It stands first in the list below. {existed}".strip(), icon=":material/check:")


def _card(gate: Gate) -> None:
    card = dataset_card(gate.entries, *_named())
    head, _, body = card.removeprefix("---\n").partition("\n---\n")
    first = min(entry.seed.category for entry in gate.entries)
    st.html(
        '<p class="hc-facts">Formats and categories stand in it by their values in the data, such as '
        f"<code>{escape(first)}</code> for {escape(category_name(first))}.</p>"
    )
    with st.container(border=True, height=460, key="card_preview"):
        st.markdown(body)
        with st.expander("Machine-readable head (YAML)"):
            st.code(head, language="yaml")


def _release(release: Release) -> None:
    signatures = list_signatures(workspace(), release.id)
    with st.container(border=True, key=f"release_{release.id}"):
        with st.container(horizontal=True, vertical_alignment="center"):
            signed = "✓ signed" if release.signed else "○ unsigned"
            st.html(
                f'<p class="hc-release"><strong>{escape(release.name)} {escape(release.version)}</strong> '
                f"{_items(release.item_count)} on {release.image_count} images · {signed} · built "
                f"{local_time(release.created_at)} by {escape(release.created_by)}</p>"
            )
            sign_button(release, signatures)
            if st.button("Verify files", key=f"verify_{release.id}", help="Compare every file's SHA-256"):
                st.session_state[_VERIFIED] = (release.id, _verified(release))
        verified = st.session_state.get(_VERIFIED)
        if verified is not None and verified[0] == release.id:
            _show_verified(verified[1])
        st.html(signatures_html(signatures) + _files_html(release))


def _verified(release: Release) -> list[str]:
    """Return what differs from the manifest, or that the manifest itself does."""
    try:
        return verify_release(Path(release.path))
    except InputError as error:
        return [error.message]


def _show_verified(problems: list[str]) -> None:
    if problems:
        show_problems(InputError("✕ The files are not those of the release", problems))
    else:
        st.html('<p class="hc-check" role="status">✓ Every file has the SHA-256 that the manifest names.</p>')


def _files_html(release: Release) -> str:
    folder = Path(release.path)
    offered = set(downloadable(folder))
    rows = "".join(
        f"<tr><td>{_download_html(release, entry.path, offered)}</td><td class='number'>{_size(entry.bytes)}</td>"
        f"<td><code>{escape(entry.sha256[:HASH_CHARACTERS])}…</code></td></tr>"
        for entry in _manifest_files(folder)
    )
    manifest = (
        f"<tr><td>{_download_html(release, MANIFEST_FILE, offered)}</td>"
        f"<td class='number'>{_size_of(folder / MANIFEST_FILE)}</td>"
        f"<td><code>{release.content_sha256[:HASH_CHARACTERS]}…</code></td></tr>"
    )
    signatures = (
        f"<tr><td>{_download_html(release, SIGNATURE_FILE, offered)}</td>"
        f"<td class='number'>{_size_of(folder / SIGNATURE_FILE)}</td><td></td></tr>"
        if SIGNATURE_FILE in offered
        else ""
    )
    whole = (
        f'<a href="{escape(archive_address(release.id), quote=True)}" target="_self">Download all as one .zip</a> · '
        if offered
        else ""
    )
    return (
        '<table class="hc-table hc-files"><thead><tr><th>File</th><th class="number">Size</th><th>SHA-256</th>'
        f"</tr></thead><tbody>{rows}{manifest}{signatures}</tbody></table>"
        f'<p class="hc-facts">{whole}{escape(str(folder))}</p>'
    )


def _download_html(release: Release, file: str, offered: Collection[str]) -> str:
    """Return a file's name, as a link to its download where it is offered."""
    if file not in offered:
        return escape(file)
    address = escape(download_address(release.id, file), quote=True)
    return f'<a href="{address}" target="_self" title="Download {escape(file, quote=True)}">{escape(file)}</a>'


def _manifest_files(folder: Path) -> list[ManifestEntry]:
    """Return the manifest's files; none where it cannot be read, which Verify explains."""
    try:
        return manifest_files(folder)
    except InputError:
        return []


def _size_of(file: Path) -> str:
    """Return a file's size; "" where it is gone, which Verify explains."""
    try:
        return _size(file.stat().st_size)
    except OSError:
        return ""


def _size(number: int) -> str:
    if number < 1_000_000:
        return f"{number / 1_000:,.1f} kB"
    return f"{number / 1_000_000:,.1f} MB"

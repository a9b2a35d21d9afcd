"""Write seeds: one ROI after the other, the image as tall as the window, the form beside it."""

from __future__ import annotations

import html
import tempfile
import textwrap
from dataclasses import dataclass
from pathlib import Path

import streamlit as st

from curator_app import seed_drafts
from curator_app.components import Key, RoiBox, ViewedSlide, roi_image, slide_viewer
from curator_app.layout import (
    choose_organ,
    empty_state,
    image_and_form,
    key_label,
    local_time,
    mark,
    organ_words,
    page_head,
    plain,
    show_problems,
)
from curator_app.session import may, who, workspace
from db.tables import Roi, Seed, Slide
from evaluation.items import CATEGORIES, describe_categories
from evaluation.slides import SlideError
from pipeline.errors import ConflictError, InputError
from pipeline.permissions import Permission
from pipeline.rois import list_rois, reject_roi, select_roi
from pipeline.seeds import SEED_COLUMNS, SeedText, drop_seed, import_seeds, list_seeds, save_seed

SAID_LENGTH = 40
"""Characters of the saved question that are repeated beside Undo."""

NEIGHBOURHOOD = 6.0
"""The view of the neighbourhood is this many ROI sides wide."""

_ROI, _LAST, _PROBLEM, _NEAR = "seed_roi", "seed_last", "seed_problem", "seed_near"
_IMPORTS, _IMPORTED = "seed_imports", "seeds_imported"


@dataclass(frozen=True)
class _Done:
    """What was done last and can be taken back: a seed that was saved, or a ROI that was dropped."""

    words: str
    roi_id: str
    seed_id: str | None = None
    text: SeedText | None = None


def _keys() -> list[Key]:
    categories = [
        Key(str(number), described.name, button="category_choice", choice=number - 1)
        for number, described in enumerate(describe_categories(), start=1)
    ]
    return [
        Key("Ctrl+Enter", "Save and go to the next ROI without a seed", button="save_seed"),
        Key("k", "Skip: go to the next ROI", button="skip_roi"),
        Key("b", "Go back to the ROI before", button="back_roi"),
        *([Key("d", "Drop the ROI with a reason", button="drop_roi")] if may(Permission.CHOOSE_ROIS) else []),
        Key("n", "Show the neighbourhood on the slide, or the ROI again", button="neighbourhood"),
        Key("u", "Take back what was done last", button="undo_seed"),
        *categories,
    ]


def show() -> None:
    """Draw the page."""
    page_head("Write seeds", "One question, its answer and its category for a ROI.", keys=_keys())
    everything = list_rois(workspace())
    if not everything:
        empty_state(
            "No ROI is selected yet.",
            "A seed question is asked about a selected ROI: pick some first.",
            page="sample_rois",
            link="Go to Sample ROIs",
        )
        return
    bar = st.container(horizontal=True, vertical_alignment="center", key="seed_bar")
    with bar:
        organ = choose_organ(everything=True)
    queue = [(roi, slide) for roi, slide in everything if organ in (None, roi.organ)]
    seeds: dict[str, list[Seed]] = {}
    for entry in list_seeds(workspace()):
        seeds.setdefault(entry.roi.id, []).append(entry.seed)
    with bar:
        _import_popover()
    if not queue:
        empty_state(f"No ROI of {organ_words(organ or '')} is selected.", "Choose another organ above.")
        return
    place = _place(queue, seeds)
    roi, slide = queue[place]
    with bar:
        _facts(roi, slide, place, queue, seeds)
    image, form = image_and_form()
    with image:
        _image(roi, slide, [row[0].id for row in queue[place + 1 : place + 3]])
    with form:
        _form(roi, place, queue, seeds)


def _place(queue: list[tuple[Roi, Slide]], seeds: dict[str, list[Seed]]) -> int:
    """Return the place of the ROI that is open; at first one with an unsaved text, else one without a seed."""
    ids = [roi.id for roi, _ in queue]
    kept = st.session_state.get(_ROI) or seed_drafts.last_written()
    if kept in ids:
        st.session_state[_ROI] = kept
        return ids.index(kept)
    place = next((index for index, identifier in enumerate(ids) if not _live(seeds, identifier)), 0)
    st.session_state[_ROI] = ids[place]
    return place


def _live(seeds: dict[str, list[Seed]], roi_id: str) -> list[Seed]:
    return [seed for seed in seeds.get(roi_id, ()) if seed.state != "dropped"]


def _facts(roi: Roi, slide: Slide, place: int, queue: list[tuple[Roi, Slide]], seeds: dict[str, list[Seed]]) -> None:
    asked = sum(bool(_live(seeds, row[0].id)) for row in queue)
    st.html(
        f'<p class="hc-facts"><strong>ROI {place + 1} of {len(queue)}</strong> · {organ_words(roi.organ)} · '
        f"{html.escape(roi.magnification)} · {html.escape(slide.name)} · {asked} with a seed</p>"
    )
    words = "Show the ROI" if st.session_state.get(_NEAR) else "Neighbourhood"
    if slide.kind == "slide" and st.button(key_label(words, "n"), key="neighbourhood"):
        st.session_state[_NEAR] = not st.session_state.get(_NEAR, False)
        st.rerun()


def _image(roi: Roi, slide: Slide, coming: list[str]) -> None:
    if st.session_state.get(_NEAR) and slide.kind == "slide":
        box = RoiBox.of(roi, slide)
        slide_viewer(
            [ViewedSlide.of(slide)],
            key="neighbourhood_viewer",
            slide_id=slide.id,
            boxes=[box],
            focus=box,
            context=NEIGHBOURHOOD,
        )
    else:
        roi_image(
            roi,
            key="seed_image",
            described_as=f"Field of view of {organ_words(roi.organ)} at {roi.magnification}",
            preload=coming,
        )


def _form(roi: Roi, place: int, queue: list[tuple[Roi, Slide]], seeds: dict[str, list[Seed]]) -> None:
    draft = seed_drafts.open_draft(roi.id)
    described = describe_categories()
    with st.container(key="category_choice"):
        category = st.radio(
            "Category (1–7)",
            CATEGORIES,
            format_func=lambda slug: f"{CATEGORIES.index(slug) + 1} {described[CATEGORIES.index(slug)].name}",
            index=None,
            key=draft.key("category"),
            on_change=draft.keep,
        )
    chosen = next((entry for entry in described if entry.slug == category), None)
    st.caption(
        f"{chosen.definition} Example: {chosen.example_question} {chosen.example_answer}."
        if chosen
        else "Choose what the question asks for; its definition and an example appear here."
    )
    st.text_area("Question, or a statement", key=draft.key("question"), height=80, on_change=draft.keep)
    st.text_area(
        "Answer",
        key=draft.key("answer"),
        height=68,
        on_change=draft.keep,
        help="Of a statement: true or false.",
    )
    problem = st.session_state.get(_PROBLEM)
    if problem is not None and problem[0] == roi.id:
        show_problems(problem[1])
    st.button(
        key_label("Save the change" if draft.editing else "Save and next", "Ctrl ⏎"),
        key="save_seed",
        type="primary",
        width="stretch",
        on_click=_save,
        args=(roi.id, queue, seeds),
    )
    with st.container(horizontal=True, gap="small", key="form_buttons"):
        st.button(key_label("Back", "b"), key="back_roi", on_click=_go, args=(queue, place - 1))
        st.button(key_label("Skip", "k"), key="skip_roi", on_click=_go, args=(queue, place + 1))
        if may(Permission.CHOOSE_ROIS):
            with st.popover(key_label("Drop", "d"), key="drop_roi"):
                _drop_form(roi, place, queue)
    _last()
    st.text_input("Notes", key=draft.key("notes"), on_change=draft.keep)
    draft.keep_while_typed()
    _written(roi, seeds)


def _save(roi_id: str, queue: list[tuple[Roi, Slide]], seeds: dict[str, list[Seed]]) -> None:
    """Write the seed to the database, then move on; on a problem stay, with the text as it is."""
    draft = seed_drafts.open_draft(roi_id)
    text = draft.text()
    try:
        seed = save_seed(
            workspace(),
            text,
            roi_id=roi_id,
            who=who(),
            seed_id=draft.editing,
            expected_version=draft.version,
        )
    except ConflictError:
        st.session_state[_PROBLEM] = (roi_id, _changed_elsewhere(draft))
        return
    except InputError as error:
        st.session_state[_PROBLEM] = (roi_id, error)
        return
    was_new = draft.editing is None
    draft.clear()
    st.session_state.pop(_PROBLEM, None)
    short = textwrap.shorten(text.question, SAID_LENGTH, placeholder="…")
    words = f"Saved {local_time(seed.changed_at, seconds=True)[-8:]}: {short}"
    st.session_state[_LAST] = _Done(words, roi_id, seed.id if was_new else None, text)
    ids = [roi.id for roi, _ in queue]
    place = ids.index(roi_id)
    later = [*range(place + 1, len(ids)), *range(place)]
    free = next((index for index in later if not _live(seeds, ids[index])), (place + 1) % len(ids))
    _go(queue, free)


def _changed_elsewhere(draft: seed_drafts.Draft) -> InputError:
    """Return what the seed says now; the writer has seen it then, so their next save counts."""
    seed = next(entry.seed for entry in list_seeds(workspace()) if entry.seed.id == draft.editing)
    draft.saw(seed.row_version)
    return InputError(
        f"This seed was changed elsewhere at {local_time(seed.changed_at, seconds=True)[-8:]}. Your text is still "
        "here and not saved: save again to replace what it says now.",
        [f"question: {seed.question}", f"answer: {seed.answer}"],
    )


def _go(queue: list[tuple[Roi, Slide]], place: int) -> None:
    st.session_state[_ROI] = queue[place % len(queue)][0].id


def _drop_form(roi: Roi, place: int, queue: list[tuple[Roi, Slide]]) -> None:
    st.caption("Takes this one ROI out of the queue. It can be taken back.")
    reason = st.text_input("Reason", key=f"drop_reason_{roi.id}", placeholder="out of focus")
    if st.button("Drop this ROI", key="drop_confirm", type="primary"):
        try:
            if not reason.strip():
                raise InputError("Say why the ROI is dropped")
            reject_roi(workspace(), roi.id, who=who(), reason=reason.strip())
        except InputError as error:
            show_problems(error)
            return
        st.session_state[_LAST] = _Done(f"Dropped ROI {place + 1}: {reason.strip()}", roi.id)
        _go(queue, place + 1)
        st.rerun()


def _last() -> None:
    done: _Done | None = st.session_state.get(_LAST)
    if done is None:
        return
    with st.container(horizontal=True, vertical_alignment="center", key="seed_last_row"):
        st.caption(f":material/check: {plain(done.words)}")
        if done.seed_id is not None or done.text is None:
            st.button(key_label("Undo", "u"), key="undo_seed", on_click=_undo, args=(done,))


def _undo(done: _Done) -> None:
    """Take back the last save (its text returns to the form) or the last drop."""
    try:
        if done.seed_id is not None and done.text is not None:
            drop_seed(workspace(), done.seed_id, reason="taken back by its author", who=who())
            seed_drafts.open_draft(done.roi_id).fill(done.text)
        else:
            select_roi(workspace(), done.roi_id, who=who())
    except (InputError, SlideError) as error:
        st.session_state[_PROBLEM] = (st.session_state.get(_ROI), error)
        return
    st.session_state[_ROI] = done.roi_id
    st.session_state.pop(_LAST, None)


def _written(roi: Roi, seeds: dict[str, list[Seed]]) -> None:
    mine = seeds.get(roi.id, [])
    if not mine:
        return
    st.markdown(f"**Seeds of this ROI** ({len(mine)})")
    names: dict[str, str] = {entry.slug: entry.name for entry in describe_categories()}
    for seed in mine:
        with st.container(border=True, key=f"seed_{seed.id}"):
            reason = f" · {seed.reason}" if seed.reason else ""
            facts = f"{names.get(seed.category, seed.category)} · {mark(seed.state)}{reason}"
            # No Markdown: it makes arrows, emoji and links of what somebody wrote.
            st.html(
                f"<p>{html.escape(seed.question)}<br><strong>{html.escape(seed.answer)}</strong></p>"
                f'<p class="hc-facts">{html.escape(facts)}</p>'
            )
            with st.container(horizontal=True):
                if seed.state in ("written", "failed", "dropped"):
                    st.button("Edit", key=f"edit_{seed.id}", on_click=_edit, args=(seed,))
                if seed.state in ("written", "ready", "failed"):
                    with st.popover("Drop", key=f"drop_{seed.id}"):
                        _drop_seed_form(seed)


def _edit(seed: Seed) -> None:
    text = SeedText(seed.question, seed.answer, seed.category, seed.notes)
    seed_drafts.open_draft(seed.roi_id).fill(text, editing=seed.id, version=seed.row_version)


def _drop_seed_form(seed: Seed) -> None:
    st.caption("Drops this one seed and withdraws its items.")
    reason = st.text_input("Reason", key=f"drop_seed_reason_{seed.id}")
    if st.button("Drop this seed", key=f"drop_seed_{seed.id}", type="primary"):
        try:
            drop_seed(workspace(), seed.id, reason=reason, who=who())
        except InputError as error:
            show_problems(error)
            return
        st.rerun()


def _import_popover() -> None:
    number = st.session_state.setdefault(_IMPORTS, 0)
    with st.popover("Import CSV", key="import_seeds"):
        st.caption(f"Columns: {', '.join(SEED_COLUMNS)}. Nothing is imported unless every row is good.")
        if said := st.session_state.pop(_IMPORTED, None):
            st.success(said, icon=":material/check:")
        # Each import has a field of its own: the file of the last one could be imported twice.
        file = st.file_uploader("CSV file", type="csv", key=f"seeds_csv_{number}")
        if file is None or not st.button("Import", type="primary", key="import_seeds_now"):
            return
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "seeds.csv"
            path.write_bytes(file.getvalue())
            try:
                added = import_seeds(workspace(), path, who=who())
            except InputError as error:
                message = error.message.replace(str(path), file.name)
                show_problems(InputError(message, error.problems))
                return
        st.session_state[_IMPORTED] = f"{len(added)} {'seed' if len(added) == 1 else 'seeds'} imported"
        st.session_state[_IMPORTS] = number + 1
        st.rerun()

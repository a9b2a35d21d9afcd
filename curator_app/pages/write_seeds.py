"""Write seeds: one ROI after the other, the image as tall as the window, the form beside it."""

from __future__ import annotations

import html
import tempfile
from pathlib import Path

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from curator_app import seed_drafts
from curator_app.at_work import free_of, work_on
from curator_app.components import (
    Key,
    RoiBox,
    Save,
    ViewedSlide,
    is_new_here,
    put_text,
    roi_image,
    save_first,
    slide_viewer,
    take_act,
    take_unheard,
    text_field,
    text_of,
)
from curator_app.conflicts import at_time, beside_html
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
from curator_app.pages._control import CONTROL_KEY, beside_control, control_buttons
from curator_app.pages._save_seed import decide_conflict, forget_conflict, shortened, store_text, text_beside
from curator_app.pages._seed_undo import Done, remember, undo_row
from curator_app.session import may, who, workspace
from curator_app.writings import draft_field, end_writing, writing_of
from db.tables import Roi, Seed, Slide
from evaluation.items import CATEGORIES, describe_categories
from evaluation.slides import SlideError
from pipeline.errors import IncompleteError, InputError
from pipeline.leases import lease_roi
from pipeline.permissions import Permission
from pipeline.rois import list_rois, reject_roi
from pipeline.seeds import (
    SEED_COLUMNS,
    SeedText,
    drop_seed,
    import_seeds,
    list_seeds,
)

NEIGHBOURHOOD = 6.0
"""The view of the neighbourhood is this many ROI sides wide."""

_ROI, _PROBLEM, _NEAR = "seed_roi", "seed_problem", "seed_near"
_IMPORTS, _IMPORTED = "seed_imports", "seeds_imported"
_SAVE, _DROP_REFUSED = "save_seed", "drop_refused"


def _keys() -> list[Key]:
    categories = [
        Key(str(number), described.name, button="category_choice", choice=number - 1)
        for number, described in enumerate(describe_categories(), start=1)
    ]
    return [
        Key("Ctrl+Enter", "Save and go to the next ROI without a seed", button=_SAVE),
        Key("k", "Skip: go to the next ROI", button="skip_roi"),
        Key("b", "Go back to the ROI before", button="back_roi"),
        *([Key("d", "Drop the ROI with a reason", button="drop_roi")] if may(Permission.CHOOSE_ROIS) else []),
        Key("n", "Show the neighbourhood on the slide, or the ROI again", button="neighbourhood"),
        CONTROL_KEY,
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
    if is_new_here(_SAVE):
        for question in seed_drafts.finish_all_saved():
            st.toast(f"Saved: {plain(shortened(question))}", icon=":material/check:", duration="long")
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
    with image, beside_control(roi):
        _image(roi, slide, [row[0].id for row in queue[place + 1 : place + 3]])
    with form:
        _form(roi, place, queue, seeds)


def _place(queue: list[tuple[Roi, Slide]], seeds: dict[str, list[Seed]]) -> int:
    """Return the place of the ROI that is open; at first one with an unsaved text, else one without a seed.

    Nobody else works on the latter, unless somebody works on each.
    """
    ids = [roi.id for roi, _ in queue]
    kept = st.session_state.get(_ROI) or seed_drafts.last_written(seed for some in seeds.values() for seed in some)
    if kept in ids:
        st.session_state[_ROI] = kept
        return ids.index(kept)
    unasked = [identifier for identifier in ids if not _live(seeds, identifier)]
    place = ids.index(lease_roi(workspace(), unasked) or (unasked or ids)[0])
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
    control_buttons(roi, slide)


def _image(roi: Roi, slide: Slide, coming: list[str]) -> None:
    if st.session_state.get(_NEAR) and slide.kind == "slide":
        slide_viewer(
            [ViewedSlide.of(slide)],
            key="neighbourhood_viewer",
            slide_id=slide.id,
            focus=RoiBox.of(roi, slide),
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
    if (late := take_unheard(_SAVE, draft.name)) is not None:
        seed_drafts.finish_saved(late)
    # What is written scrolls; what saves it stands at the foot and is always in sight.
    with st.container(key="form_scroll"):
        work_on(roi.id, lease_roi)
        _unsaved(draft, seeds)
        _fields(draft)
        _written(roi, seeds)
    with st.container(key="form_foot"):
        _problem_of(draft)
        _acts(draft, roi, place, queue, seeds)
    decide_conflict(draft, saved=lambda roi_id: _go_to_free(roi_id, queue, seeds))


def _fields(draft: seed_drafts.Draft) -> None:
    described = describe_categories()
    with st.container(key="category_choice"):
        category = st.radio(
            "Category (1–7)",
            CATEGORIES,
            format_func=lambda slug: f"{CATEGORIES.index(slug) + 1} {described[CATEGORIES.index(slug)].name}",
            index=None,
            key=draft.key("category"),
            on_change=draft.keep_category,
        )
    _fault(draft, "category")
    chosen = next((entry for entry in described if entry.slug == category), None)
    st.caption(
        f"{chosen.definition} Example: {chosen.example_question} {chosen.example_answer}."
        if chosen
        else "Choose what the question asks for; its definition and an example appear here."
    )
    _text(draft, "question", "Question, or a statement", rows=3)
    _text(draft, "answer", "Answer", help="Of a statement: true or false.")
    beside = text_beside(draft)
    if beside is not None:
        st.html(beside_html(beside))
    _text(draft, "notes", "Notes", rows=1)


def _acts(
    draft: seed_drafts.Draft, roi: Roi, place: int, queue: list[tuple[Roi, Slide]], seeds: dict[str, list[Seed]]
) -> None:
    beside = text_beside(draft)
    over = f"Save over {plain(beside.whose)}" if beside is not None else "Save the change"
    st.button(
        key_label(over if draft.editing else "Save and next", "Ctrl ⏎"),
        key=_SAVE,
        type="primary",
        width="stretch",
        on_click=_save,
        args=(roi.id, queue, seeds),
    )
    save_first(_SAVE, _saving(draft))
    with st.container(horizontal=True, gap="small", key="form_buttons"):
        st.button(key_label("Back", "b"), key="back_roi", on_click=_go, args=(queue, place - 1))
        st.button(key_label("Skip", "k"), key="skip_roi", on_click=_skip, args=(queue, place))
        if may(Permission.CHOOSE_ROIS):
            with st.popover(key_label("Drop", "d"), key="drop_roi"):
                _drop_form(roi, place, queue)
    undo_row(_taken_back)


def _refused(draft: seed_drafts.Draft) -> InputError | None:
    """Return why the save of this form was refused, until it is saved or another one is open."""
    problem: tuple[str, InputError] | None = st.session_state.get(_PROBLEM)
    return problem[1] if problem is not None and problem[0] == draft.roi_id else None


def _problem_of(draft: seed_drafts.Draft) -> None:
    """Say above the buttons why nothing was saved; what is wrong with a field stands at that field."""
    problem = _refused(draft)
    if isinstance(problem, IncompleteError):
        where = ", ".join(problem.faults)
        st.html(f'<p class="hc-fault" role="alert">✕ {html.escape(problem.message)}: look at {html.escape(where)}.</p>')
    elif problem is not None:
        show_problems(problem)


def _fault(draft: seed_drafts.Draft, field: str) -> None:
    """Say at a field what was wrong with it when the save was refused."""
    problem = _refused(draft)
    fault = problem.faults.get(field) if isinstance(problem, IncompleteError) else None
    if fault is not None:
        words = "Choose a category." if field == "category" else f"The {field} {fault}."
        st.html(f'<p class="hc-fault">✕ {html.escape(words)}</p>')


def _saving(draft: seed_drafts.Draft) -> Save:
    return Save(
        draft.name,
        "/api/seeds",
        {
            "roi": draft.roi_id,
            "seed": draft.editing,
            "version": draft.version,
            "category": "",
            "draft": draft.name,
            "writing": writing_of(draft.name),
        },
        {field: draft.key(field) for field in ("question", "answer", "notes")},
        {"category": ("category_choice", CATEGORIES)},
    )


def _text(draft: seed_drafts.Draft, field: str, label: str, *, rows: int = 2, help: str = "") -> None:
    text_field(
        label,
        key=draft.key(field),
        own=getattr(draft.stored(), field),
        kept=draft.place(field),
        rows=rows,
        help=help,
        # One field for all ROIs: while the page is drawn anew, the one before would else stand beside it.
        at=f"seed_{field}",
    )
    _fault(draft, field)


def _unsaved(draft: seed_drafts.Draft, seeds: dict[str, list[Seed]]) -> None:
    """Say what an earlier visit left: a new seed's text is in the form again, a change waits until it is wanted.

    The form of a new seed is empty, so nothing is in the way of its text; a change would take the place of a text
    that is stored and that somebody may have changed since.
    """
    if draft.editing is not None:
        with _notice("seed_changing"):
            st.html('<p class="hc-facts">✎ You are changing a seed that is stored.</p>')
            st.button("Leave it as it is", key="leave_change", on_click=_leave_change, args=(draft,))
        return
    if (at := draft.came_back) is not None:
        with _notice("seed_back"):
            st.html(
                f'<p class="hc-facts" role="status">✎ Your unsaved text of {local_time(at)[-5:]} is in the form.</p>'
            )
            st.button("Discard", key="discard_back", on_click=_give_up, args=(draft,))
    for change in seed_drafts.unsaved_changes(seeds.get(draft.roi_id, ())):
        _offer(change)


def _offer(change: seed_drafts.UnsavedChange) -> None:
    """Offer a change that was typed and not saved, with the beginning of both texts."""
    seed = change.seed
    short = {name: html.escape(shortened(text)) for name, text in (("mine", change.mine), ("stored", change.stored))}
    now = change.saved_meanwhile
    meanwhile = (
        f"<br>{html.escape(now.writer)} saved another text meanwhile, at {at_time(now)}; “Use it” and saving "
        "shows both."
        if now is not None
        else ""
    )
    with st.container(gap="small", key=f"seed_offer_{seed.id}"):
        st.html(
            f'<p class="hc-facts" role="status">✎ Unsaved change of {local_time(change.at)[-5:]}: '
            f"“{short['mine']}”<br>Stored: “{short['stored']}”{meanwhile}</p>"
        )
        with st.container(horizontal=True, gap="small"):
            st.button("Use it", key=f"use_{seed.id}", on_click=_edit, args=(seed,))
            st.button(
                "Discard",
                key=f"discard_{seed.id}",
                on_click=_give_up,
                args=(seed_drafts.Draft(seed.roi_id, seed.id),),
            )


def _notice(key: str) -> DeltaGenerator:
    return st.container(horizontal=True, vertical_alignment="center", gap="small", wrap=False, key=key)


def _leave_change(draft: seed_drafts.Draft) -> None:
    """Go back to the ROI's new seed; what was typed of the change is given up, and can be taken back."""
    if draft.kept().is_text:
        _give_up(draft)
    else:
        draft.clear()
    forget_conflict(draft)


def _give_up(draft: seed_drafts.Draft) -> None:
    kept = draft.kept()
    text = SeedText(**{field: kept.fields.get(field, kept.own.get(field, "")) for field in seed_drafts.FIELDS})
    draft.clear()
    remember(Done("gave up", "Discarded what was typed", draft.roi_id, draft.editing, text))


def _save(roi_id: str, queue: list[tuple[Roi, Slide]], seeds: dict[str, list[Seed]]) -> None:
    """Write the seed to the database, then move on; on a problem stay, with the text as it is."""
    draft = seed_drafts.open_draft(roi_id)
    if (late := take_unheard(_SAVE, draft.name)) is not None:
        # The click was for the form that was open before.
        seed_drafts.finish_saved(late)
        return
    st.session_state.pop(_PROBLEM, None)
    try:
        store_text(
            draft,
            draft.text(),
            draft.version,
            saved=lambda roi_id: _go_to_free(roi_id, queue, seeds),
            act=take_act(_SAVE, draft.name),
        )
    except InputError as error:
        st.session_state[_PROBLEM] = (roi_id, error)


def _taken_back(roi_id: str, error: InputError | SlideError | None) -> None:
    if error is not None:
        st.session_state[_PROBLEM] = (st.session_state.get(_ROI), error)
    else:
        st.session_state[_ROI] = roi_id


def _go_to_free(roi_id: str, queue: list[tuple[Roi, Slide]], seeds: dict[str, list[Seed]]) -> None:
    ids = [roi.id for roi, _ in queue]
    place = ids.index(roi_id)
    unasked = [one for one in (*ids[place + 1 :], *ids[:place]) if not _live(seeds, one)]
    free = lease_roi(workspace(), unasked)
    _go(queue, ids.index(free) if free is not None else place + 1)


def _skip(queue: list[tuple[Roi, Slide]], place: int) -> None:
    """Go to the next ROI, past those that somebody else works on; Back opens these as well."""
    ids = [roi.id for roi, _ in queue]
    free = free_of([*ids[place + 1 :], *ids[:place]])
    _go(queue, ids.index(free[0]) if free else place + 1)


def _go(queue: list[tuple[Roi, Slide]], place: int) -> None:
    st.session_state[_ROI] = queue[place % len(queue)][0].id


def _drop_form(roi: Roi, place: int, queue: list[tuple[Roi, Slide]]) -> None:
    st.caption("Takes this one ROI out of the queue. Undo puts it back.")
    _reason(f"drop_{roi.id}", submits="drop_confirm")
    st.button("Drop this ROI", key="drop_confirm", type="primary", on_click=_drop_roi, args=(roi, place, queue))
    _drop_refused(roi.id)


def _drop_roi(roi: Roi, place: int, queue: list[tuple[Roi, Slide]]) -> None:
    """Drop the ROI in the version that the person saw."""
    name = f"drop_{roi.id}"
    reason = text_of(f"reason_{name}").strip()
    try:
        if not reason:
            raise InputError("Say why the ROI is dropped")
        dropped = reject_roi(workspace(), roi.id, who=who(), reason=reason, expected_version=roi.row_version)
    except InputError as error:
        st.session_state[_DROP_REFUSED] = (roi.id, error)
        return
    _end_reason(name)
    remember(Done("dropped ROI", f"Dropped ROI {place + 1}: {reason}", roi.id, version=dropped.row_version))
    _go(queue, place + 1)


def _drop_refused(object_id: str) -> None:
    """Say why the drop of a ROI or seed that was just asked for was refused."""
    refused: tuple[str, InputError] | None = st.session_state.get(_DROP_REFUSED)
    if refused is not None and refused[0] == object_id:
        del st.session_state[_DROP_REFUSED]
        show_problems(refused[1])


def _reason(name: str, *, submits: str) -> str:
    return text_field(
        "Reason", key=f"reason_{name}", kept=draft_field(name, "reason"), placeholder="out of focus", submits=submits
    )


def _end_reason(name: str) -> None:
    end_writing(name)
    put_text(f"reason_{name}", "")


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
    seed_drafts.change_seed(seed)


def _drop_seed_form(seed: Seed) -> None:
    st.caption("Drops this one seed and withdraws its items. Undo brings the seed back, its items not.")
    _reason(f"drop_{seed.id}", submits=f"drop_seed_{seed.id}")
    st.button("Drop this seed", key=f"drop_seed_{seed.id}", type="primary", on_click=_drop_seed, args=(seed,))
    _drop_refused(seed.id)


def _drop_seed(seed: Seed) -> None:
    """Drop the seed in the version that the person saw."""
    name = f"drop_{seed.id}"
    try:
        dropped = drop_seed(
            workspace(),
            seed.id,
            reason=text_of(f"reason_{name}"),
            who=who(),
            expected_version=seed.row_version,
        )
    except InputError as error:
        st.session_state[_DROP_REFUSED] = (seed.id, error)
        return
    _end_reason(name)
    words = f"Dropped: {shortened(seed.question)}"
    remember(Done("dropped seed", words, seed.roi_id, seed.id, version=dropped.row_version))


def _import_popover() -> None:
    number = st.session_state.setdefault(_IMPORTS, 0)
    with st.popover("Import CSV", key="import_seeds"):
        st.caption(
            f"Columns: {', '.join(SEED_COLUMNS)}. Nothing is imported unless every row is "
            "good. There is no undo: drop single seeds."
        )
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

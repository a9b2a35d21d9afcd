"""Writing items: the seeds that wait, the models that write and check, and the seeds that failed with why."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import streamlit as st

from curator_app.components.safety_html import category_name
from curator_app.job_progress import start_job, watch_jobs
from curator_app.layout import empty_state, key_label, mark, organ_words, plain
from curator_app.session import may, workspace
from evaluation.models import ModelConfigurationError, is_offline
from pipeline.jobs import list_jobs
from pipeline.permissions import Permission
from pipeline.rechecks import items_to_check
from pipeline.seeds import SeedEntry, list_seeds
from pipeline.variants import choose_models

ITEMS_PER_SEED = 3

_ABOUT = {
    "offline/author": "fills in the three formats from word lists per organ",
    "offline/test-wise": "guesses by the cues that exam writers warn of",
}


def write_items(pending: Sequence[str]) -> None:
    """Show what waits, and to who may start it the job that writes it."""
    watch_jobs("generate", "check")
    _check_again()
    waiting_ids = set(pending)
    seeds = [entry for entry in list_seeds(workspace()) if entry.seed.id in waiting_ids]
    writes = may(Permission.GENERATE_ITEMS)
    if not seeds:
        more = " Write more seeds, or review the items that there are." if writes else ""
        empty_state(
            "No seed waits for items.",
            f"Every seed question has its items.{more}",
            page="write_seeds",
            link="Write seeds",
        )
        return
    failed = [entry for entry in seeds if entry.seed.state == "failed"]
    if writes:
        _action(seeds)
    if failed:
        _table("Failed", f"{len(failed)} failed before; they are tried again with the others.", failed)
    fresh = [entry for entry in seeds if entry.seed.state != "failed"]
    if fresh:
        _table("Waiting", "", fresh)


def _check_again() -> None:
    """Offer to check the items again of which the check without the image came to nothing."""
    lost = items_to_check(workspace())
    if not lost or not may(Permission.GENERATE_ITEMS):
        return
    one = len(lost) == 1
    running = any(job.active and job.kind == "check" for job in list_jobs(workspace()))
    with st.container(horizontal=True, vertical_alignment="center", key="check_again_line"):
        words = f"Check {'1 item' if one else f'{len(lost)} items'} again"
        pressed = st.button(words, key="check_again", disabled=running)
        st.html(
            f'<p class="hc-facts">▲ The check without the image came to nothing for {"it" if one else "them"}: a call '
            "failed, or its process ended. Answers that there are count and are not asked for again.</p>"
        )
    if pressed:
        try:
            checker = str(st.session_state.get("write_checker") or "").strip() or None
            models = choose_models(workspace(), generator=checker or workspace().settings.checker, checker=checker)
        except ModelConfigurationError as error:
            st.error(plain(str(error)), icon=":material/error:")
            return
        start_job("check", checker=models.checker, item_ids=lost)
        st.rerun()


def _action(seeds: Sequence[SeedEntry]) -> None:
    generator, checker = _models()
    running = any(job.active and job.kind == "generate" for job in list_jobs(workspace()))
    words = f"Write items for {len(seeds)} {'seed' if len(seeds) == 1 else 'seeds'}"
    with st.container(horizontal=True, vertical_alignment="center", key="write_action"):
        pressed = st.button(key_label(words, "g"), key="generate", type="primary", disabled=running)
        st.html(
            f'<p class="hc-facts">{ITEMS_PER_SEED} items from each: multiple choice, KPrim and free text. '
            "Those that are guessed without the image are rewritten up to three times.</p>"
        )
    if pressed:
        _start(generator, checker, [entry.seed.id for entry in seeds])


def _models() -> tuple[str, str]:
    settings = workspace().settings
    with st.container(horizontal=True, gap="medium", key="write_models"):
        generator = _model("Writing model", settings.generator, "generator")
        checker = _model("Image-free checker", settings.checker, "checker")
    st.html(
        '<p class="hc-facts">Any name that inspect_ai knows: openai/…, anthropic/…, vllm/…, openai-api/SERVER/…. '
        "Keys are read from the provider's own environment variables.</p>"
    )
    return generator, checker


def _model(label: str, default: str, key: str) -> str:
    with st.container(width=330):
        name = str(st.text_input(label, value=default, key=f"write_{key}") or "").strip()
        if is_offline(name):
            about = _ABOUT.get(name, "works by rules")
            note = f"Built in, no language model: {about}."
        else:
            note = "A provider's model: calls go out and may cost money."
        st.html(f'<p class="hc-facts">{escape(note)}</p>')
    return name


def _start(generator: str, checker: str, seed_ids: list[str]) -> None:
    try:
        models = choose_models(workspace(), generator=generator or None, checker=checker or None)
    except ModelConfigurationError as error:
        st.error(plain(str(error)), icon=":material/error:")
        return
    start_job("generate", generator=models.generator, checker=models.checker, seed_ids=seed_ids)
    st.rerun()


def _table(title: str, note: str, entries: Sequence[SeedEntry]) -> None:
    st.subheader(title, anchor=False)
    if note:
        st.html(f'<p class="hc-facts">{escape(note)}</p>')
    rows = "".join(
        f"<tr><td>{escape(organ_words(e.roi.organ))}</td><td>{escape(category_name(e.seed.category))}</td>"
        f"<td>{escape(e.seed.question)}<p class='why'>{escape(e.seed.answer)}</p></td>"
        f"<td>{escape(mark(e.seed.state))}<p class='why'>{escape(e.seed.reason or '')}</p></td></tr>"
        for e in entries
    )
    st.html(
        '<div class="hc-scroll"><table class="hc-table"><thead><tr><th>Organ</th><th>Category</th>'
        f"<th>Question and answer</th><th>State</th></tr></thead><tbody>{rows}</tbody></table></div>"
    )

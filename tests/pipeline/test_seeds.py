"""Writing, changing, dropping and importing seed questions."""

from __future__ import annotations

from pathlib import Path

import pytest
from sqlmodel import select

from db.tables import AuditEvent
from pipeline.errors import ChangedError, ConflictError, InputError
from pipeline.review import list_items
from pipeline.rois import list_rois
from pipeline.seeds import SeedText, drop_seed, import_seeds, list_seeds, restore_seed, save_seed
from pipeline.variants import choose_models, generate_items
from pipeline.workspace import Workspace
from tests.pipeline.conftest import write_csv

HEADER = ("roi", "question", "answer", "category", "author")


def test_a_statement_is_known_by_its_answer(with_rois: Workspace) -> None:
    roi = list_rois(with_rois)[0][0].id
    statement = save_seed(
        with_rois, SeedText("Mild myositis is present.", "False", "probe_over_reading"), roi_id=roi, who="a"
    )
    question = save_seed(with_rois, SeedText("What is it?", "A vein", "identify_anatomy"), roi_id=roi, who="a")
    assert (statement.is_true, question.is_true) == (False, None)


def test_texts_are_normalised(with_rois: Workspace) -> None:
    roi = list_rois(with_rois)[0][0].id
    seed = save_seed(with_rois, SeedText("  Ist es o\u0308dematös? ", "ja", "identify_pathology"), roi_id=roi, who="a")
    assert seed.question == "Ist es ödematös?"


def test_two_people_on_one_seed(with_rois: Workspace) -> None:
    roi = list_rois(with_rois)[0][0].id
    seed = save_seed(with_rois, SeedText("What is it?", "A vein", "identify_anatomy"), roi_id=roi, who="anna")
    seen = seed.row_version
    save_seed(
        with_rois,
        SeedText("Which vessel is it?", "A vein", "identify_anatomy"),
        roi_id=roi,
        who="ben",
        seed_id=seed.id,
        expected_version=seen,
    )
    with pytest.raises(ConflictError, match=r"ben changed its text at .* Which vessel is it"):
        save_seed(
            with_rois,
            SeedText("What vessel?", "A vein", "identify_anatomy"),
            roi_id=roi,
            who="anna",
            seed_id=seed.id,
            expected_version=seen,
        )
    assert list_seeds(with_rois)[0].seed.question == "Which vessel is it?"
    with with_rois.reading() as session:
        edits = [event for event in session.exec(select(AuditEvent)) if event.action == "edit"]
    assert len(edits) == 1
    assert edits[0].old is not None
    assert edits[0].old["question"] == "What is it?"


def test_dropping_withdraws_items_and_can_be_undone(with_seeds: Workspace) -> None:
    generate_items(with_seeds, models=choose_models(with_seeds, generator=None, checker=None), who="a")
    seed = list_seeds(with_seeds)[0].seed
    with pytest.raises(InputError, match="why"):
        drop_seed(with_seeds, seed.id, reason=" ", who="a")
    drop_seed(with_seeds, seed.id, reason="out of focus", who="a")
    assert len(list_items(with_seeds)) == 9
    assert restore_seed(with_seeds, seed.id, who="a").state == "written"


def test_what_somebody_else_changed_is_neither_dropped_nor_restored(with_seeds: Workspace) -> None:
    seed = list_seeds(with_seeds)[0].seed
    text = SeedText("Which cells are swollen?", "hepatocytes", "identify_anatomy")
    save_seed(with_seeds, text, roi_id=seed.roi_id, seed_id=seed.id, who="bob")
    with pytest.raises(ChangedError, match=r"This seed was changed .* bob changed its text at \d\d:"):
        drop_seed(with_seeds, seed.id, reason="blurred", who="ana", expected_version=seed.row_version)
    edited = list_seeds(with_seeds)[0].seed
    assert edited.question == text.question
    dropped = drop_seed(with_seeds, seed.id, reason="blurred", who="ana", expected_version=edited.row_version)
    restore_seed(with_seeds, seed.id, who="ana", expected_version=dropped.row_version)
    drop_seed(with_seeds, seed.id, reason="wrong organ", who="bob")
    with pytest.raises(ChangedError, match="bob made it dropped at"):
        restore_seed(with_seeds, seed.id, who="ana", expected_version=dropped.row_version)
    assert list_seeds(with_seeds)[0].seed.reason == "wrong organ"


def test_every_bad_row_is_listed_with_its_line_and_nothing_imported(with_rois: Workspace, tmp_path: Path) -> None:
    roi = list_rois(with_rois)[0][0].id
    candidate = list_rois(with_rois, states=("candidate",))[0][0].id
    rows = [
        (roi, "What is it?", "A vein", "identify_anatomy", "Dr A"),
        ("roi_unknown", "What is it?", "A vein", "identify_anatomy", "Dr A"),
        (roi, "What is it?", "", "identify_anatomy", "Dr A"),
        (roi, "A question\nover two lines?", "A vein", "anatomy", "Dr A"),
        (candidate, "What is it?", "A vein", "identify_anatomy", ""),
        (roi, "What is it?", "A vein", "identify_anatomy", "Dr A"),
        (roi, "x" * 4_001, "A vein", "identify_anatomy", "Dr A"),
        (roi, "What is it?", "An artery"),
    ]
    with pytest.raises(InputError) as caught:
        import_seeds(with_rois, write_csv(tmp_path / "seeds.csv", HEADER, rows), who="a")
    problems = "\n".join(caught.value.problems)
    for said in (
        "line 3: there is no ROI 'roi_unknown'",
        "line 4: answer is empty",
        "line 5: category 'anatomy' is unknown",
        "line 7: ROI",
        "line 7: author is empty",
        "line 8: the same question and answer",
        "line 9: question has 4001 characters",
        "line 10: it has another number of cells",
    ):
        assert said in problems
    assert list_seeds(with_rois) == []


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "header"),
        (b"roi,question\n", "column answer is missing"),
        (b"roi,question,answer,category,author,colour\na,b,c,d,e,f\n", "'colour' is unknown"),
        (b"roi,question,answer,category,author\n", "no rows"),
        (b"roi,question,answer,category,author\na,b\n", "line 2"),
        (b"roi,roi,answer,category,author\n", "twice"),
        (b"\xff\xfe\x00r", "UTF-8"),
        (b'roi,question,answer,category,author\na,"b,c,d,e\n', "line"),
        (b"roi,question,answer,category,author\na,b\x00,c,d,e\n", "NUL"),
    ],
)
def test_a_file_that_is_no_table(with_rois: Workspace, tmp_path: Path, content: bytes, said: str) -> None:
    file = tmp_path / "seeds.csv"
    file.write_bytes(content)
    with pytest.raises(InputError, match=said):
        import_seeds(with_rois, file, who="a")


def test_semicolons_and_a_byte_order_mark_are_read(with_rois: Workspace, tmp_path: Path) -> None:
    roi = list_rois(with_rois)[0][0].id
    file = tmp_path / "seeds.csv"
    text = f"Roi;Question;Answer;Category;Author\r\n{roi};What, then?;A vein;identify_anatomy;Dr Ä\r\n"
    file.write_bytes(b"\xef\xbb\xbf" + text.encode())
    assert import_seeds(with_rois, file, who="a")[0].author == "Dr Ä"


@pytest.mark.parametrize(
    ("question", "answer", "author", "said"),
    [
        ("Which \u202ecell\u202c is it?", "A vein", "Dr A", "question holds the character U\\+202E"),
        ("Which cell is it?", "A\x1b[31m vein", "Dr A", "answer holds the character U\\+001B"),
        ("Which cell is it?", "\u200b", "Dr A", "answer must not be empty"),
        ("Which cell is it?", "A vein", "Dr \x07A", "author holds the character"),
        ("Which cell is it?", "A vein", "D" * 300, "author has 300 characters"),
    ],
)
def test_characters_that_nobody_sees_are_refused(
    with_rois: Workspace, tmp_path: Path, question: str, answer: str, author: str, said: str
) -> None:
    row = (list_rois(with_rois)[0][0].id, question, answer, "identify_anatomy", author)
    with pytest.raises(InputError, match=f"line 2: {said}"):
        import_seeds(with_rois, write_csv(tmp_path / "seeds.csv", HEADER, [row]), who="a")


def test_texts_of_any_language_and_formulas_are_kept_as_they_are(with_rois: Workspace, tmp_path: Path) -> None:
    texts = ("=1+1 {{ 7 * 7 }} <b>?", "Où est la cellule?\nIci?", "איפה התא?", "细胞在哪里?", "👩‍🔬?")
    roi = list_rois(with_rois)[0][0].id
    rows = [(roi, text, "µm² ≥ 5", "identify_anatomy", "Dr Ä") for text in texts]
    seeds = import_seeds(with_rois, write_csv(tmp_path / "seeds.csv", HEADER, rows), who="a")
    assert tuple(seed.question for seed in seeds) == texts

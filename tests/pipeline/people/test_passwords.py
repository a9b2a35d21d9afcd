"""Passwords: what is accepted, how it is kept, and that nobody repeats it."""

from __future__ import annotations

import unicodedata

import pytest
from argon2 import PasswordHasher, extract_parameters
from argon2.low_level import Type
from hypothesis import example, given
from hypothesis import strategies as st

from pipeline.errors import InputError
from pipeline.people import checked_password
from pipeline.people._passwords import MAX_LENGTH, hash_password, password_fits
from tests.pipeline.people.conftest import PASSWORD

ANY = st.text(st.characters(exclude_categories=[]), max_size=40)
ALLOWED = ANY.map(lambda text: f"{text} aQ7!-xy-bcde")


@given(ALLOWED, ALLOWED | ANY)
@example("correct horse\ud800 battery", "correct horse? battery")
@example("correct horse battery", "correct horse battery ")
@example("correct horse batt\u0065\u0301ry", "correct horse batt\u00e9ry")
def test_a_password_opens_only_what_it_was_set_for(password: str, other: str) -> None:
    hashed = hash_password(checked_password(password, name="anna"))
    assert password_fits(password, hashed)
    same = unicodedata.normalize("NFKC", password) == unicodedata.normalize("NFKC", other)
    assert password_fits(other, hashed) == same
    assert not password_fits(password + "x", hashed)


@given(ALLOWED)
def test_every_way_to_type_a_password_fits(password: str) -> None:
    hashed = hash_password(checked_password(password, name="anna"))
    for form in ("NFC", "NFD", "NFKC", "NFKD"):
        assert password_fits(unicodedata.normalize(form, password), hashed), form


def test_the_longest_password_fits_however_it_is_typed() -> None:
    longest = "ᾂᾃᾆᾇᾲᾷῂῇ" * (MAX_LENGTH // 8)
    assert len(longest) == MAX_LENGTH
    typed = unicodedata.normalize("NFD", longest)
    assert len(typed) > 3 * MAX_LENGTH
    assert password_fits(typed, hash_password(checked_password(longest, name="anna")))


@pytest.mark.parametrize(
    ("password", "says"),
    [
        ("elevenchars", "11 characters; at least 12"),
        ("ﷺ" * 20, "at most 256"),
        ("ab1!" * 65, "260 characters; at most 256"),
        ("abababababab", "fewer than 5 different"),
        ("AaAaBbBbCcCc", "fewer than 5 different"),
        ("anna-schmidt12", "little more than the sign-in name"),
        ("ANNA-SCHMIDTANNA-SCHMIDT", "little more than the sign-in name"),
        ("", "0 characters"),
    ],
)
def test_what_is_no_password(password: str, says: str) -> None:
    with pytest.raises(InputError, match=says):
        checked_password(password, name="anna-schmidt")


@given(st.sampled_from(["", "Tr0ub4dor", "zqzqzqzqzqzqzq", "name-Kq9#", "long Kq9#" * 40]), st.integers(1, 9))
def test_no_message_repeats_the_password(start: str, times: int) -> None:
    password = start * times
    for work in (
        lambda: checked_password(password, name="anna"),
        lambda: checked_password(f"name{password}", name=f"name{password}"),
    ):
        try:
            work()
        except InputError as error:
            told = str(error) + repr(error) + repr(error.__cause__) + repr(error.__context__)
            assert not start or start not in told


def test_nobody_and_a_broken_hash_take_a_look_too(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[object] = []

    class Counting(PasswordHasher):
        def verify(self, hash: str | bytes, password: str | bytes) -> bool:  # type: ignore[override]
            looked.append(hash)
            return bool(super().verify(hash, password))

    monkeypatch.setattr("pipeline.people._passwords._hasher", Counting(time_cost=1, memory_cost=8, parallelism=1))
    assert not password_fits(PASSWORD, None)
    assert not password_fits("no account has this password", None), "the stand-in opens nothing"
    assert not password_fits(PASSWORD, "$argon2id$broken")
    assert not password_fits(PASSWORD, hash_password("another horse battery"))
    assert not password_fits("x" * 10_000_000, None), "cut before any work is done"
    assert len(looked) == 5


def test_the_program_hashes_with_argon2id_and_much_memory(programs_hasher: PasswordHasher) -> None:
    parameters = extract_parameters(programs_hasher.hash(PASSWORD))
    assert parameters.type is Type.ID
    assert parameters.memory_cost >= 19 * 1024, "KiB, the least that OWASP names"
    assert hash_password(PASSWORD) != hash_password(PASSWORD), "each with a salt of its own"

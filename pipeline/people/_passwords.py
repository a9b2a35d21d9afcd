"""Passwords: what is accepted as one, and its argon2 hash."""

from __future__ import annotations

import unicodedata
from functools import cache
from threading import BoundedSemaphore

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from pipeline.errors import InputError

MIN_LENGTH = 12
MAX_LENGTH = 256
"""Enough for any pass phrase; hashing something endless would be an attack."""

PASSWORD_RULE = f"at least {MIN_LENGTH} characters; a sentence is easy to remember"

_LEAST_DIFFERENT = 5
_hasher = PasswordHasher()
# One hash takes 64 MiB and all of a core: many at once would be an attack too.
_slots = BoundedSemaphore(4)


def checked_password(password: str, *, name: str) -> str:
    """Return a new password as it is hashed (NFKC).

    Raises:
        InputError: too short, too long, of too few different characters, or like the account's name. The password
            is not repeated.
    """
    normal = _normal(password)
    if len(normal) < MIN_LENGTH:
        raise InputError(f"The password has {len(normal)} characters; at least {MIN_LENGTH} are needed")
    if len(normal) > MAX_LENGTH:
        raise InputError(f"The password has {len(normal)} characters; at most {MAX_LENGTH} are allowed")
    if len(set(normal.casefold())) < _LEAST_DIFFERENT:
        raise InputError(f"The password has fewer than {_LEAST_DIFFERENT} different characters")
    if len(name) > 2 and len(normal.casefold().replace(name.casefold(), "")) < MIN_LENGTH // 2:
        raise InputError("The password is little more than the sign-in name")
    return normal


def hash_password(normal: str) -> str:
    """Return the argon2id hash of a password that `checked_password` returned."""
    with _slots:
        return _hasher.hash(_bytes(normal))


def password_fits(password: str, password_hash: str | None) -> bool:
    """Say whether a typed password is the hashed one; takes as long where there is no hash."""
    normal = _normal(password[: 4 * MAX_LENGTH])
    with _slots:
        # Made for whoever comes first, known or not, so that the time it takes tells nothing of the account.
        stand_in = _nobodys(_hasher)
        try:
            _hasher.verify(password_hash or stand_in, _bytes(normal))
        except (VerificationError, InvalidHashError):
            return False
    return password_hash is not None


@cache
def _nobodys(hasher: PasswordHasher) -> str:
    """Return a hash to verify where there is none; not made on import, which every command would wait for."""
    return hasher.hash("no account has this password")


def _bytes(normal: str) -> bytes:
    # Half a surrogate pair comes from no keyboard, but a request may hold one: it is hashed like anything else.
    return normal.encode("utf-8", "surrogatepass")


def _normal(password: str) -> str:
    return unicodedata.normalize("NFKC", password)

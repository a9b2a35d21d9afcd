"""Passwords on the command line: asked for hidden, or one line of stdin; never an argument, which others see."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

PasswordStdinOption = Annotated[
    bool, typer.Option("--password-stdin", help="Read the password from one line of stdin instead of asking for it.")
]


def read_password(prompt: str, *, from_stdin: bool, twice: bool = False) -> str:
    """Return a password that a person types, or that another program writes to stdin.

    Args:
        prompt: what the person is asked; on stderr, so that stdout stays the result's.
        from_stdin: read one line of stdin.
        twice: ask again and compare, for a new password.

    Raises:
        InputError: there is no terminal to ask at, or stdin is empty.
    """
    from pipeline.errors import InputError

    if from_stdin:
        line = sys.stdin.readline()
        if not line.strip("\r\n"):
            raise InputError("--password-stdin was given, but no line came on stdin")
        return line.rstrip("\r\n")
    if not sys.stdin.isatty():
        raise InputError("The password cannot be asked for: this is no terminal. Write it to stdin: --password-stdin")
    typed: str = typer.prompt(prompt, hide_input=True, confirmation_prompt="Once more" if twice else False, err=True)
    return typed

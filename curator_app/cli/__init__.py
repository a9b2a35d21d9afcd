"""The command `histocurator`: one file per group of commands."""

from curator_app.cli._app import app, main

__all__ = ["app", "main"]

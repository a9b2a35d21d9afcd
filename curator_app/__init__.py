"""Presentation only: command line, browser app and worker over pipeline and evaluation."""

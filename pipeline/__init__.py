"""Curation over a workspace: from slides to releases, for pages, command line and worker alike."""

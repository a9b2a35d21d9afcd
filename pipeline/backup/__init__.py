"""Backup and restore: a consistent copy of a workspace in use, checked before it replaces anything."""

from pipeline.backup._restore import RestoreSummary, restore_backup
from pipeline.backup._write import BackupSummary, write_backup

__all__ = ["BackupSummary", "RestoreSummary", "restore_backup", "write_backup"]

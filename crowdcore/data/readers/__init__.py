"""File formats: every file of this folder reads one."""

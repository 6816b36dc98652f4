"""Writing datasets and results: folder, tables, CoNLL, files of other tools. Each appears whole or not at all."""

from __future__ import annotations

from crowdcore.data.writers.folder import write_folder
from crowdcore.data.writers.tables import write_aggregated, write_conll, write_long, write_wide

__all__ = ["write_aggregated", "write_conll", "write_folder", "write_long", "write_wide"]

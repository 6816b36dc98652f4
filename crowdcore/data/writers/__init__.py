"""Writing datasets and results: folder, long table, CoNLL columns, labels. Every file appears whole or not at all."""

from __future__ import annotations

from crowdcore.data.dictionary import neutralise
from crowdcore.data.writers.folder import write_folder
from crowdcore.data.writers.tables import write_aggregated, write_conll, write_long, write_wide

__all__ = ["neutralise", "write_aggregated", "write_conll", "write_folder", "write_long", "write_wide"]

"""Writing datasets and results: folder, long table, CoNLL columns, labels. Every file appears whole or not at all."""

from __future__ import annotations

from crowdcore.data.formulas import neutralise
from crowdcore.data.writers.aggregated import write_aggregated
from crowdcore.data.writers.conll import write_conll
from crowdcore.data.writers.folder import write_folder
from crowdcore.data.writers.long import write_long
from crowdcore.data.writers.wide import write_wide

__all__ = ["neutralise", "write_aggregated", "write_conll", "write_folder", "write_long", "write_wide"]

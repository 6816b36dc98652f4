"""Reports on a dataset and its runs, as one HTML file and as a folder of tables and pictures."""

from crowdcore.runs.report.build import (
    DATA_PARTS,
    PARTS,
    RUN_PARTS,
    Report,
    Section,
    Trained,
    build,
    command_line,
    parts_of,
)
from crowdcore.runs.report.page import drawing_fault, to_archive, to_html, write_report

__all__ = [
    "DATA_PARTS",
    "PARTS",
    "RUN_PARTS",
    "Report",
    "Section",
    "Trained",
    "build",
    "command_line",
    "drawing_fault",
    "parts_of",
    "to_archive",
    "to_html",
    "write_report",
]

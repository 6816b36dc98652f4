"""Reports: what was chosen of a dataset and its runs, as one HTML file and as a folder of tables and pictures."""

from crowdcore.runs.report.build import Report, Section, Trained, build, command_line
from crowdcore.runs.report.files import drawing_fault, to_archive, write_report
from crowdcore.runs.report.page import to_html
from crowdcore.runs.report.parts import DATA_PARTS, PARTS, RUN_PARTS, parts_of

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

"""Tables as text: JSON for machines, Markdown and LaTeX (booktabs) to paste."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from crowdcore.core.spelling import visible
from crowdcore.data.tables.base import Arrow

_GREEK = (
    "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho varsigma sigma tau "
    "upsilon phi chi psi omega"
)
_MARKDOWN = re.compile(r"[\\`*\[\]<>|~&$]|(?<!\w)_|_(?!\w)")  # what it obeys in a cell; it leaves a_b as it is
_LATEX = str.maketrans(
    {
        **{special: f"\\{special}" for special in "&%$#_{}"},
        **{bracket: f"{{{bracket}}}" for bracket in "[]*"},  # after \\ they would be its arguments
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        **{"<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}"},
        **{"–": "--", "—": "---", "−": "$-$", "…": r"\ldots{}", "²": "$^2$"},
        **{"±": r"$\pm$", "×": r"$\times$", "·": r"$\cdot$", "→": r"$\rightarrow$", "≥": r"$\geq$", "≤": r"$\leq$"},
        **{chr(0x3B1 + number): f"$\\{name}$" for number, name in enumerate(_GREEK.split())},
    }
)


def spelled(value: Any) -> str:
    """A value for people: at most three decimals, or three digits where it is small; – where there is none."""
    if isinstance(value, float | np.floating):
        if math.isnan(value):
            return "–"
        return f"{value:.3g}" if 0 < abs(float(value)) < 0.001 else f"{value:z,.3f}".rstrip("0").rstrip(".")
    return "–" if value is None or value is pd.NA or value is pd.NaT else visible(str(value))


def json_rows(table: Arrow) -> str:
    """A list with a record for each row, numbers in full; nothing, NaN and infinities are null."""
    return "[" + ",".join(f"\n  {_record(row)}" for row in table.to_pylist()) + "\n]\n"


def _record(row: Mapping[str, Any]) -> str:
    plain = {name: _plain(value) for name, value in row.items()}
    text = json.dumps(plain, ensure_ascii=False)
    return text if visible(text) == text else json.dumps(plain)


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, list):
        return [_plain(part) for part in value]
    return value if value is None or isinstance(value, bool | int | str) else str(value)


def markdown(table: Arrow, bold: Mapping[str, Any] | None = None) -> str:
    """A Markdown table; ``bold``: column -> the value that stands out."""
    head, rows, numeric = _cells(table)
    names = [_in_markdown(name) for name in head]
    lines = [f"| {' | '.join(names)} |", f"|{'|'.join('--:' if right else '---' for right in numeric)}|"]
    for cells, values in rows:
        best = [(bold or {}).get(name) == value and value is not None for name, value in zip(head, values, strict=True)]
        shown = [f"**{_in_markdown(c)}**" if b else _in_markdown(c) for c, b in zip(cells, best, strict=True)]
        lines.append(f"| {' | '.join(shown)} |")
    return "\n".join(lines) + "\n"


def latex(table: Arrow) -> str:
    """A ``tabular`` of booktabs to ``\\input``; columns of numbers stand right."""
    head, rows, numeric = _cells(table)
    lines = [rf"\begin{{tabular}}{{{''.join('r' if right else 'l' for right in numeric)}}}", r"\toprule"]
    lines += [_in_latex(head), r"\midrule", *(_in_latex(cells) for cells, _ in rows)]
    return "\n".join(["% \\usepackage{booktabs}", *lines, r"\bottomrule", r"\end{tabular}"]) + "\n"


def latex_of(frame: pd.DataFrame) -> str:
    """`latex` of a frame, whatever its columns hold."""
    plain = {str(name): frame[name] if frame[name].dtype.kind in "iufb" else frame[name].map(spelled) for name in frame}
    return latex(pa.Table.from_pandas(pd.DataFrame(plain), preserve_index=False))


def _cells(table: Arrow) -> tuple[list[str], list[tuple[list[str], tuple[Any, ...]]], list[bool]]:
    """Names of the columns; the cells of each row, as text and as they are; which columns hold numbers."""
    values = zip(*(column.to_pylist() for column in table.columns), strict=True)
    types = [field.type for field in table.schema]
    numeric = [pa.types.is_integer(t) or pa.types.is_floating(t) for t in types]
    return list(map(str, table.column_names)), [([*map(spelled, row)], row) for row in values], numeric


def _in_markdown(text: str) -> str:
    return _MARKDOWN.sub(r"\\\g<0>", " ".join(visible(text).split()))


def _in_latex(cells: list[str]) -> str:
    """A row of a ``tabular``."""
    one_line = (" ".join(visible(cell).split()) for cell in cells)
    shown = (re.sub(r"^-(?=[\d.])", "−", cell).translate(_LATEX) for cell in one_line)
    return " & ".join(shown) + r" \\"


TEXTS: dict[str, Callable[[Arrow], str]] = {".json": json_rows, ".md": markdown, ".tex": latex}
"""Ending of a file -> what it holds."""

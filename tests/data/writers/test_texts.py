"""Tables as Markdown, LaTeX and JSON: every cell comes back, and none is obeyed."""

from __future__ import annotations

import json
import re

import pandas as pd
import pyarrow as pa
import pytest
from markdown_it import MarkdownIt

from crowdcore.core.errors import SettingError
from crowdcore.data.writers.tables import ENDINGS, write_table

HOSTILE = [
    "[1pt]",
    "*",
    "a & b",
    "50 %",
    r"\input{x}",
    "a|b",
    "<b>x</b>",
    "w_1 _x_",
    "$x^2$ ~ #1 {y}",
    "two\nlines",
    "",
]
FRAME = pd.DataFrame({"who [x]": HOSTILE, "q_value": [-0.5, float("nan"), 1e-6, *range(8)], "n": range(11)})
TABLE = pa.Table.from_pandas(FRAME, preserve_index=False)
NUMBERS = ["-0.5", "–", "1e-06", *map(str, range(8))]


def shown(text: str) -> str:
    return " ".join(text.split())


def test_markdown_shows_every_cell_as_it_is(tmp_path) -> None:
    write_table(TABLE, file := tmp_path / "table.md")
    parsed = MarkdownIt("commonmark").enable("table").parse(file.read_text())
    inline = [token.children for token in parsed if token.type == "inline"]
    assert {part.type for cell in inline for part in cell} == {"text"}
    cells = ["".join(part.content for part in cell) for cell in inline]
    assert cells[:3] == list(FRAME.columns)
    assert cells[3::3] == [shown(cell) for cell in HOSTILE]
    assert cells[4::3] == NUMBERS


def test_latex_is_a_booktabs_table_with_nothing_unescaped(tmp_path) -> None:
    write_table(TABLE, file := tmp_path / "table.tex")
    lines = file.read_text().splitlines()
    assert lines[1] == r"\begin{tabular}{lrr}" and lines[-1] == r"\end{tabular}"
    assert [line for line in lines if line.endswith("rule")] == [r"\toprule", r"\midrule", r"\bottomrule"]
    rows = [line.removesuffix(r" \\") for line in lines if line.endswith(r" \\")]
    cells = [[plain(cell) for cell in re.split(r"(?<!\\) & ", row)] for row in rows]
    assert [row[0] for row in cells[1:]] == [shown(cell) for cell in HOSTILE]
    assert [row[1].replace("--", "–") for row in cells[1:]] == NUMBERS
    assert not any(row.startswith(("[", "*")) for row in rows)  # arguments of the line before


def plain(text: str) -> str:
    """What a cell prints."""
    words = {"backslash": "\\", "asciitilde": "~", "asciicircum": "^", "less": "<", "greater": ">", "bar": "|"}
    text = re.sub(r"\\text(\w+)\{\}", lambda found: words[found[1]], text.replace("$-$", "-"))
    return re.sub(r"\{([\[\]*])\}", r"\1", re.sub(r"\\([&%$#_{}])", r"\1", text))


def test_symbols_of_tables_are_commands_of_latex(tmp_path) -> None:
    write_table(pa.table({"κ": ["ω → 1 ± 2"]}), file := tmp_path / "table.tex")
    assert r"$\kappa$ \\" in file.read_text()
    assert r"$\omega$ $\rightarrow$ 1 $\pm$ 2 \\" in file.read_text()


def test_json_keeps_numbers_in_full_and_has_no_nan(tmp_path) -> None:
    frame = pd.DataFrame(
        {"x": [1 / 3, float("inf"), float("nan")], "day": pd.Timestamp("2026-01-02"), "of": [[1.5]] * 3}
    )
    write_table(pa.Table.from_pandas(frame, preserve_index=False), file := tmp_path / "table.json")
    rows = json.loads(file.read_text(), parse_constant=pytest.fail)
    assert [row["x"] for row in rows] == [1 / 3, None, None]
    assert rows[0]["day"].startswith("2026-01-02") and rows[0]["of"] == [1.5]


@pytest.mark.parametrize("ending", ENDINGS)
def test_an_empty_table_has_its_columns(ending: str, tmp_path) -> None:
    write_table(TABLE.slice(0, 0), file := tmp_path / f"table{ending}")
    assert file.stat().st_size
    assert ending in (".json", ".parquet") or "who" in file.read_text()


def test_escapes_for_terminals_are_not_written(tmp_path) -> None:
    for ending in (".md", ".tex", ".json"):
        write_table(pa.table({"worker": ["a\x1b[31m\x9bb"]}), file := tmp_path / f"table{ending}")
        assert not {"\x1b", "\x9b"} & set(file.read_text(encoding="utf-8"))


def test_another_ending_is_refused(tmp_path) -> None:
    with pytest.raises(SettingError, match=r"end in .*\.tex, but got 'table.doc'"):
        write_table(TABLE, tmp_path / "table.doc")

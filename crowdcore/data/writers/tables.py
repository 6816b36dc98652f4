"""Tables of annotations, ratings, labels and tags: one file, at once or not at all."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from crowdcore.core import files
from crowdcore.core.errors import DataError, Remedy, SettingError, either
from crowdcore.core.mistakes import repeats
from crowdcore.core.spelling import visible
from crowdcore.core.types import FloatArray, IntArray
from crowdcore.data.dataset import SPLITS, CrowdDataset
from crowdcore.data.dictionary import arrow_column, clean, escape, strings
from crowdcore.data.encoder import encode
from crowdcore.data.ratings import RatingDataset
from crowdcore.data.tables.base import RESERVED, Arrow

_GREEK = (
    "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho varsigma sigma tau "
    "upsilon phi chi psi omega"
)
_MARKDOWN = re.compile(r"[\\`*\[\]<>|~&$]|(?<!\w)_|_(?!\w)")  # markup in a cell; a_b is none
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
    """A value as text: at most three decimals, or three digits if it is small; – if it is missing."""
    if isinstance(value, float | np.floating):
        if math.isnan(value):
            return "–"
        return f"{value:.3g}" if 0 < abs(float(value)) < 0.001 else f"{value:z,.3f}".rstrip("0").rstrip(".")
    return "–" if value is None or value is pd.NA or value is pd.NaT else visible(str(value))


def json_rows(table: Arrow) -> str:
    """A list with a record for each row, numbers in full; missing values, NaN and infinities are null."""
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
    """A Markdown table; ``bold``: column -> the value to emphasise."""
    head, rows, numeric = _cells(table)
    names = [_in_markdown(name) for name in head]
    lines = [f"| {' | '.join(names)} |", f"|{'|'.join('--:' if right else '---' for right in numeric)}|"]
    for cells, values in rows:
        best = [(bold or {}).get(name) == value and value is not None for name, value in zip(head, values, strict=True)]
        shown = [f"**{_in_markdown(c)}**" if b else _in_markdown(c) for c, b in zip(cells, best, strict=True)]
        lines.append(f"| {' | '.join(shown)} |")
    return "\n".join(lines) + "\n"


def latex(table: Arrow) -> str:
    """A ``tabular`` of booktabs to ``\\input``; columns of numbers are right-aligned."""
    head, rows, numeric = _cells(table)
    lines = [rf"\begin{{tabular}}{{{''.join('r' if right else 'l' for right in numeric)}}}", r"\toprule"]
    lines += [_in_latex(head), r"\midrule", *(_in_latex(cells) for cells, _ in rows)]
    return "\n".join(["% \\usepackage{booktabs}", *lines, r"\bottomrule", r"\end{tabular}"]) + "\n"


def latex_of(frame: pd.DataFrame) -> str:
    """`latex` of a frame with columns of any type."""
    plain = {str(name): frame[name] if frame[name].dtype.kind in "iufb" else frame[name].map(spelled) for name in frame}
    return latex(pa.Table.from_pandas(pd.DataFrame(plain), preserve_index=False))


def _cells(table: Arrow) -> tuple[list[str], list[tuple[list[str], tuple[Any, ...]]], list[bool]]:
    """Names of the columns; the cells of each row, as text and as values; flags of the columns of numbers."""
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
"""Ending of a file -> function that makes its content."""


TableFormat = Literal["parquet", "csv"]
ENDINGS = (".csv", ".parquet", *TEXTS)
ROWS = 1 << 18  # of a row group, of which a reader holds one at a time
DICTIONARY = 1 << 14  # most values of a dictionary that is written as one: reading larger ones takes much memory


@contextmanager
def replacing(path: Path, overwrite: bool = False) -> Iterator[Path]:
    """`crowdcore.core.files.replacing` in a folder that exists."""
    if not path.parent.is_dir():
        raise DataError(f"The folder {path.parent} does not exist")
    with files.replacing(path, overwrite) as temporary:
        yield temporary


def write_table(table: Arrow, path: Path) -> None:
    """Write a pyarrow table as Parquet, as CSV (UTF-8, formulas neutralised), or as a text of `TEXTS`."""
    suffix = path.suffix.lower()
    if suffix not in ENDINGS:
        raise SettingError("path", f"end in {either(ENDINGS)}", path.name)
    with replacing(path) as temporary:
        if suffix == ".parquet":
            _write_parquet(table, temporary)
            return
        if suffix in TEXTS:
            temporary.write_text(TEXTS[suffix](table), encoding="utf-8")
            return
        columns = zip(table.columns, table.column_names, strict=True)
        table = pa.table([_safe(column, name) for column, name in columns], names=table.column_names)
        header = ",".join(_quote_name(name) for name in escape(strings(table.column_names)).to_pylist())
        for style in ("none", "needed"):
            with temporary.open("wb") as file:
                file.write(f"{header}\n".encode())
                try:
                    options = pa_csv.WriteOptions(include_header=False, quoting_style=style)
                    pa_csv.write_csv(table, file, options)
                    return
                except pa.ArrowInvalid:  # a cell needs quotes
                    if style == "needed":
                        raise


def table_bytes(frame: pd.DataFrame, ending: str) -> bytes:
    """A frame as a file of one of `ENDINGS`."""
    with TemporaryDirectory() as folder:
        file = Path(folder, f"table{ending}")
        columns = [arrow_column(column) for _, column in frame.items()]
        write_table(pa.table(columns, names=[*map(str, frame.columns)]), file)
        return file.read_bytes()


def _is_large(column: Arrow) -> bool:
    chunks = column.chunks if pa.types.is_dictionary(column.type) else ()
    return any(len(chunk.dictionary) > DICTIONARY for chunk in chunks)


def _write_parquet(table: Arrow, path: Path) -> None:
    """Write large dictionaries as plain values: Parquet makes smaller ones for each row group, faster to read."""
    plain = [
        field.with_type(field.type.value_type) if _is_large(column) else field
        for field, column in zip(table.schema, table.columns, strict=True)
    ]
    schema = pa.schema(plain, table.schema.metadata)
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        for batch in table.to_batches(ROWS):
            writer.write_table(pa.table(batch).cast(schema), ROWS)


def _safe(column: Arrow, name: str) -> Arrow:
    """Text with formulas neutralised; dictionary columns become plain text."""
    if pa.types.is_dictionary(column.type):
        return pa.chunked_array(
            [escape(c.dictionary.cast(pa.large_string())).take(c.indices) for c in column.chunks], pa.large_string()
        )
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        return escape(column.cast(pa.large_string()))
    if pa.types.is_nested(column.type) or pa.types.is_binary(column.type) or pa.types.is_large_binary(column.type):
        raise DataError(f"The column {name!r} holds {column.type}, which a CSV file cannot hold", "Write Parquet.")
    return column


def _quote_name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"' if any(c in name for c in ',"\r\n') else name


def names_column(codes: Arrow, names: Arrow) -> Arrow:
    """A dictionary column of names."""
    return pa.chunked_array([pa.DictionaryArray.from_arrays(pa.array(codes), names)])


def check_names(dataset: CrowdDataset | RatingDataset, listed: bool) -> None:
    """Refuse names that would be read back changed: readers trim blanks, and merge names that look the same.

    ``listed``: a list of classes is written too, which keeps ``1.0`` from being read as ``1``.
    """
    classes = () if dataset.kind.numeric else dataset.label_names
    for what, names in (("task", dataset.task_ids), ("worker", dataset.worker_ids), ("class", classes)):
        column = strings(map(str, names))
        result = clean(encode(column), whole="all" if what != "class" else "keep" if listed else "mixed")
        codes = result.codes
        same = len(codes.values) == len(column) and bool((codes.codes >= 0).all()) and codes.values.equals(column)
        if not same:
            changed = next(
                (a for a, b in zip(column.to_pylist(), codes.values.to_pylist(), strict=False) if a != b), column[-1]
            )
            raise DataError(
                f"The {what} name {str(changed)!r} would not be read back unchanged",
                "Names must be distinct, not empty, without surrounding blanks, and in normal form (NFC).",
            )


def annotation_table(dataset: CrowdDataset | RatingDataset, complete: bool = False) -> Arrow:
    """A pyarrow table: task, worker, label or rating, extra columns; ``complete``: also gold, split, file row."""
    columns = {
        "task": names_column(dataset.task, pa.array(dataset.task_ids.astype("str"))),
        "worker": names_column(dataset.worker, pa.array(dataset.worker_ids.astype("str"))),
    }
    if isinstance(dataset, RatingDataset):
        columns["rating"] = pa.array(dataset.rating)
    else:
        columns["label"] = names_column(dataset.label, strings(dataset.classes))
    if dataset.extra is not None:
        taken = (*RESERVED, *columns)
        columns |= {str(name): _extra_column(dataset.extra[name], str(name), taken) for name in dataset.extra}
    if complete and dataset.has_gold:
        columns["gold"] = gold_column(dataset).take(pa.array(dataset.task))
    if complete and (dataset.split >= 0).any():
        part = dataset.split[dataset.task].astype(np.int32)
        columns["split"] = names_column(np.ma.masked_less(part, 0), strings(SPLITS))
    if complete and dataset.file_row is not None:
        columns["file_row"] = pa.array(dataset.file_row)
    return pa.table(columns)


def gold_column(dataset: CrowdDataset | RatingDataset) -> Arrow:
    """The true class or rating of each task, missing where it is unknown."""
    if isinstance(dataset, RatingDataset):
        return pa.array(dataset.gold, from_pandas=True)
    return names_column(np.ma.masked_less(dataset.gold, 0), strings(dataset.classes))


def _extra_column(values: pd.Series, name: str, taken: tuple[str, ...]) -> Arrow:
    """An extra column as pyarrow."""
    if name in taken:
        raise DataError(f"The extra column {name!r} has the name of another column of this table", "Rename it.")
    try:
        return arrow_column(values)
    except pa.ArrowException as error:
        raise DataError(
            f"The extra column {name!r} holds values that no table can hold ({error})", "Turn them into text."
        ) from None


def write_long(dataset: CrowdDataset | RatingDataset, path: str | Path) -> Path:
    """Write the annotations as a long CSV or Parquet file (by the ending of ``path``).

    Each row holds the annotation's true class and split if known, and its row in the file it was read from. Tasks
    without annotations, the class order or range, features and media are not in such a file; `write_folder` keeps them.

    Args:
        path: the file; replaced at once if it exists.

    Raises:
        DataError: names that would be read back changed.
        SettingError: another ending.
    """
    path = Path(path)
    check_names(dataset, listed=False)
    write_table(annotation_table(dataset, complete=True), path)
    return path


def write_wide(dataset: RatingDataset, path: str | Path) -> Path:
    """Write ratings as a wide CSV or Parquet file (by the ending of ``path``): a row a task, a column a worker.

    Read it back with the range and ``workers=[…]``; gold is in the column ``gold``. Tasks without ratings are included;
    splits, further columns and media are not: `write_folder` keeps them.

    Args:
        path: the file; replaced at once if it exists.

    Raises:
        DataError: a worker rated a task twice, or is named like one of our columns.
        SettingError: another ending.
    """
    path = Path(path)
    check_names(dataset, listed=False)
    taken = sorted({*RESERVED} & {*map(str, dataset.worker_ids)})
    if taken:
        raise DataError(f"A worker is called {taken[0]!r}, like another column of this table", "Write a long table.")
    if repeats(dataset.task, dataset.worker, dataset.n_workers).any():
        remedies = (Remedy("repeats", "first", "read one rating of each worker and task"),)
        raise DataError(f"A worker of {dataset.name} rated a task twice", "Write a long table.", remedies=remedies)
    order = np.argsort(dataset.worker, kind="stable")
    columns = {"task": strings(map(str, dataset.task_ids))}
    start = np.searchsorted(dataset.worker[order], np.arange(dataset.n_workers + 1))
    for number, name in enumerate(dataset.worker_ids):
        rows = order[start[number] : start[number + 1]]
        given = np.full(dataset.n_tasks, np.nan)
        given[dataset.task[rows]] = dataset.rating[rows]
        columns[str(name)] = pa.array(given, from_pandas=True)
    if (~np.isnan(dataset.gold)).any():
        columns["gold"] = gold_column(dataset)
    write_table(pa.table(columns), path)
    return path


def write_aggregated(
    dataset: CrowdDataset,
    labels: IntArray,
    path: str | Path,
    *,
    posterior: FloatArray | None = None,
    difficulty: FloatArray | None = None,
    foil: IntArray | None = None,
) -> Path:
    """Write the result of an aggregator as CSV or Parquet: ``task``, ``label``, and the optional columns.

    These are ``p(<class>)`` for each class, ``difficulty``, and ``foil``, the class that the task misleads to.

    Args:
        dataset: dataset of the tasks.
        labels: (n_tasks,) class numbers; tasks with -1 have no row.
        path: the file; replaced at once if it exists.
        posterior: (n_tasks, C) probabilities to add as columns.
        difficulty: (n_tasks,) larger is harder.
        foil: (n_tasks,) class numbers, -1 for none.

    Raises:
        SettingError: arrays of another shape, or another ending.
    """
    path = Path(path)
    labels = np.asarray(labels)
    for name, values in (("labels", labels), ("difficulty", difficulty), ("foil", foil)):
        if values is not None and values.shape != (dataset.n_tasks,):
            raise SettingError(name, f"have the shape ({dataset.n_tasks},)", values.shape)
    if posterior is not None and posterior.shape != (dataset.n_tasks, dataset.n_classes):
        raise SettingError("posterior", f"have the shape ({dataset.n_tasks}, {dataset.n_classes})", posterior.shape)
    check_names(dataset, listed=False)
    known = np.flatnonzero(labels >= 0)
    columns = {
        "task": names_column(known.astype(np.int32), pa.array(dataset.task_ids.astype("str"))),
        "label": names_column(labels[known].astype(np.int32), strings(dataset.classes)),
    }
    if posterior is not None:
        columns |= {f"p({name})": pa.array(posterior[known, c]) for c, name in enumerate(dataset.classes)}
    if difficulty is not None:
        columns["difficulty"] = pa.array(difficulty[known])
    if foil is not None:
        columns["foil"] = names_column(
            pa.array(foil[known], pa.int32(), mask=foil[known] < 0), strings(dataset.classes)
        )
    write_table(pa.table(columns), path)
    return path


_STEP = 1 << 24  # cells in memory at a time


def write_conll(dataset: CrowdDataset, path: str | Path) -> Path:
    """Write a token a line, with its gold tag if any is known and the tag of each worker (``?``: none).

    Args:
        dataset: a crowd that tags tokens.
        path: the file; replaced at once if it exists.

    Raises:
        DataError: the dataset has no sentences, a name or word has a blank, or a worker tagged a sentence twice.
    """
    path, sentences = Path(path), dataset.sentences
    if sentences is None:
        raise DataError(f"{dataset.name} knows no sentences", "Write it as a long table or as a folder.")
    gold = ["gold"] if (dataset.gold >= 0).any() else []
    header = ["token", *gold, *map(str, dataset.worker_ids)]
    for name in (*header, *dataset.classes, *np.unique(sentences.words.astype("str"))):
        if not name or len(name.split()) != 1 or name != name.strip():
            raise DataError(
                f"{name!r} cannot be written in a column: it is empty or contains a space",
                "Rename it, or write a folder.",
            )
    if repeats(dataset.task, dataset.worker, dataset.n_workers).any():
        raise DataError(
            f"A worker of {dataset.name} tagged a token twice", remedies=(Remedy("repeats", "first", "read one tag"),)
        )
    tags = strings((*dataset.classes, "?"))
    words = pa.array(sentences.words.astype("str")).cast(pa.large_string())
    ends = np.zeros(dataset.n_tasks, bool)
    ends[sentences.start[1:] - 1] = True
    gap = strings(("", "\n")).take(pa.array(ends.astype(int)))
    step = max(1, _STEP // max(dataset.n_workers, 1))
    with replacing(path) as temporary, temporary.open("w", encoding="utf-8", newline="") as file:
        file.write("\t".join(header) + "\n")
        for low in range(0, dataset.n_tasks, step):
            high = min(low + step, dataset.n_tasks)
            rows = slice(dataset.task_start[low], dataset.task_start[high])
            given = np.full((high - low, dataset.n_workers), dataset.n_classes)
            given[dataset.task[rows] - low, dataset.worker[rows]] = dataset.label[rows]
            known = [np.where(dataset.gold[low:high] < 0, dataset.n_classes, dataset.gold[low:high])] if gold else []
            columns = [tags.take(pa.array(codes)) for codes in (*known, *given.T)]
            tab = pa.scalar("\t", pa.large_string())
            lines = pc.binary_join_element_wise(words[low:high], *columns, tab)
            lines = pc.binary_join_element_wise(lines, gap[low:high], pa.scalar("", pa.large_string()))
            file.write("\n".join(lines.to_pylist()) + "\n")
    return path

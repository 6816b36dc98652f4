"""One table to one file, at once or not at all."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from crowdcore.core.errors import DataError, SettingError
from crowdcore.data.dataset import CrowdDataset
from crowdcore.data.dictionary import clean, strings
from crowdcore.data.encoder import encode
from crowdcore.data.formulas import escape
from crowdcore.data.ratings import RatingDataset
from crowdcore.data.tables.base import Arrow

TableFormat = Literal["parquet", "csv"]
ROWS = 1 << 18  # of a row group: a reader holds one at a time
DICTIONARY = 1 << 14  # values of a dictionary that stays one: read as one, a larger one takes many times its size


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary path beside ``path`` that takes its place when the block ends well, and vanishes otherwise."""
    if not path.parent.is_dir():
        raise DataError(f"The folder {path.parent} does not exist")
    temporary = beside(path)
    try:
        yield temporary
        temporary.replace(path)
    except OSError as error:
        if error.errno is None:
            raise
        raise OSError(error.errno, error.strerror, str(path)) from error  # nobody knows the temporary one
    finally:
        temporary.unlink(missing_ok=True)


def beside(path: Path) -> Path:
    """A hidden name in the same folder that nothing has."""
    return path.with_name(f".{path.name}.{secrets.token_hex(6)}.tmp")


def table_format(path: Path) -> TableFormat:
    """The format a file's name asks for.

    Raises:
        SettingError: neither ``.csv`` nor ``.parquet``.
    """
    suffix = path.suffix.lower()
    if suffix == ".csv":
        return "csv"
    if suffix == ".parquet":
        return "parquet"
    raise SettingError("path", "end in .csv or .parquet", path.name)


def write_table(table: Arrow, path: Path) -> None:
    """Write a pyarrow table as Parquet, or as CSV (UTF-8, formulas neutralised)."""
    with replacing(path) as temporary:
        if table_format(path) == "parquet":
            _write_parquet(table, temporary)
            return
        columns = zip(table.columns, table.column_names, strict=True)
        table = pa.table([_safe(column, name) for column, name in columns], names=table.column_names)
        header = ",".join(_quoted(name) for name in escape(strings(table.column_names)).to_pylist())
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


def _is_large(column: Arrow) -> bool:
    chunks = column.chunks if pa.types.is_dictionary(column.type) else ()
    return any(len(chunk.dictionary) > DICTIONARY for chunk in chunks)


def _write_parquet(table: Arrow, path: Path) -> None:
    """Write large dictionaries spelled out: Parquet has its own for each row group, smaller and faster read."""
    plain = [
        field.with_type(field.type.value_type) if _is_large(column) else field
        for field, column in zip(table.schema, table.columns, strict=True)
    ]
    schema = pa.schema(plain, table.schema.metadata)
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        for batch in table.to_batches(ROWS):
            writer.write_table(pa.table(batch).cast(schema), ROWS)


def _safe(column: Arrow, name: str) -> Arrow:
    """Text with formulas neutralised; dictionary columns are spelled out."""
    if pa.types.is_dictionary(column.type):
        return pa.chunked_array(
            [escape(c.dictionary.cast(pa.large_string())).take(c.indices) for c in column.chunks], pa.large_string()
        )
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        return escape(column.cast(pa.large_string()))
    if pa.types.is_nested(column.type) or pa.types.is_binary(column.type) or pa.types.is_large_binary(column.type):
        raise DataError(f"The column {name!r} holds {column.type}, which a CSV file cannot hold", "Write Parquet.")
    return column


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"' if any(c in name for c in ',"\r\n') else name


def names_column(codes: Arrow, names: Arrow) -> Arrow:
    """A dictionary column of names."""
    return pa.chunked_array([pa.DictionaryArray.from_arrays(pa.array(codes), names)])


def check_names(dataset: CrowdDataset | RatingDataset, listed: bool) -> None:
    """Refuse names that would come back changed: readers trim blanks, and merge what looks the same.

    Args:
        dataset: whose names.
        listed: whether a list of classes is written too, which keeps ``1.0`` from being read as ``1``.

    Raises:
        DataError: says which name, and of what.
    """
    classes = () if isinstance(dataset, RatingDataset) else dataset.classes
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

"""Small files of every format, some of them mutated, for `fuzz_readers`."""

from __future__ import annotations

import csv
import io
import json
import random
import tempfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from testkit.plain_readers import Row, cells, melted, plain_json, plain_parquet, plain_rows


@dataclass(frozen=True)
class Made:
    """A file and how to read it plainly.

    Args:
        kind: csv, wide, json …
        raw: its bytes.
        suffix: of its name.
        plain: reads its rows by another parser; None if there is none for this format.
        delimiter: where no cell of the file as it was made holds a line break, the delimiter.
        intact: whether nothing was mutated.
    """

    kind: str
    raw: bytes
    suffix: str
    plain: Callable[[bytes], list[Row]] | None
    delimiter: str = ""
    intact: bool = True


def records(rng: random.Random) -> list[dict[str, Any]]:
    """Some annotations; names repeat, as in a crowd."""
    n, labels = rng.randint(1, 25), rng.choice([["cat", "dog"], [0, 1, 2], [-1, 0, 1], ["a b", "é"], ["-1", "1"]])
    gold = {task: rng.choice([*labels, None]) for task in range(9)}
    rows = []
    for _ in range(n):
        task = rng.randrange(9)
        row = {"task": f"t{task}", "worker": f"w{rng.randrange(5)}", "label": rng.choice(labels)}
        rows.append(row | ({"gold": gold[task]} if gold[0] is not None else {}))
    if rng.random() < 0.4:
        for row in rows:
            row["text"] = rng.choice(["plain", "a, b", 'say "hi"', "two\nlines, and more", "", "it's"])
    return rows


def delimited(rng: random.Random) -> Made:
    delimiter, end = rng.choice(",,,;\t|"), rng.choice(["\n", "\n", "\r\n", "\r"])
    encoding = rng.choice(["utf-8", "utf-8", "utf-8-sig", "utf-16"])
    rows = records(rng)
    if encoding == "utf-16" or rng.random() < 0.5:
        rows = [{k: v for k, v in row.items() if k != "text"} for row in rows]
    out = io.StringIO(newline="")
    quoting = rng.choice([csv.QUOTE_MINIMAL, csv.QUOTE_MINIMAL, csv.QUOTE_ALL])
    writer = csv.DictWriter(out, list(rows[0]), delimiter=delimiter, lineterminator=end, quoting=quoting)
    writer.writeheader()
    writer.writerows(rows)
    text, edited = mutated_text(out.getvalue(), rng, delimiter)
    return Made(
        "csv" if delimiter != "\t" else "tsv",
        text.encode(encoding),
        ".tsv" if delimiter == "\t" else ".csv",
        lambda raw: plain_rows(cells(raw.decode(encoding), delimiter)),
        delimiter="" if "two\nlines" in out.getvalue() else delimiter,
        intact=not edited,
    )


def wide(rng: random.Random) -> Made:
    names = [f"w{i + 1}" for i in range(rng.randint(2, 6))]
    labels = rng.choice([["cat", "dog"], ["0", "1", "2"], ["-1", "0", "1"], ["-1", "1"], ["-2", "-1", "1"]])
    header = ["task", *(["gold"] if rng.random() < 0.3 else []), *names]
    table = [header] + [[f"t{i}", *(rng.choice([*labels, ""]) for _ in header[1:])] for i in range(rng.randint(3, 15))]
    text, edited = mutated_text("\n".join(",".join(row) for row in table) + "\n", rng, ",")
    return Made("wide", text.encode(), ".csv", lambda raw: melted(cells(raw.decode(), ","), header), ",", not edited)


def json_table(rng: random.Random) -> Made:
    rows: list[Any] = records(rng)
    lines = rng.random() < 0.5
    edited = rng.random() < 0.8
    for _ in range(rng.randint(1, 3) if edited else 0):
        row = rng.choice(rows)
        change = rng.randrange(9)
        if not isinstance(row, dict) or not row:
            continue
        key = rng.choice(list(row))
        if change == 0:
            del row[key]
        elif change == 1:
            row[key] = rng.choice([None, "", " x ", True, 3, 2.5, "\ud800", [1], {"value": "x"}, ["cat"]])
        elif change == 2:
            row[rng.choice(["gold", "late", "task "])] = "new"
        elif change == 3:
            rows[rng.randrange(len(rows))] = rng.choice([None, 3, [1, 2], {}])
        elif change == 4:
            rows.append(rng.choice(rows))
    text = "\n".join(map(json.dumps, rows)) + "\n" if lines else json.dumps(rows, indent=rng.choice([None, 1]))
    if edited and not lines and rng.random() < 0.2:
        good = [row for row in rows if isinstance(row, dict)]
        orient = rng.choice(["columns", "index", "split", "values", "table"])
        with suppress(ValueError, UnicodeError):
            text = pd.DataFrame(good).astype(str).to_json(orient=orient)
    elif edited and rng.random() < 0.3:
        text = scratched(text, rng, '{}[]",:\n 0n')
    return Made("json lines" if lines else "json", text.encode(), ".jsonl" if lines else ".json", plain_json(lines),
                intact=not edited)  # fmt: skip


def parquet(rng: random.Random) -> Made:
    frame = pd.DataFrame(records(rng))
    for name in frame:
        kind = rng.choice(["as is", "as is", "category", "null", "float"])
        if kind == "category":
            frame[name] = frame[name].astype("category")
        elif kind == "null" and name != "task":
            frame[name] = frame[name].where(frame[name].index % 3 > 0)
        elif kind == "float" and pd.api.types.is_integer_dtype(frame[name]):
            frame[name] = frame[name].astype(float)
    out = io.BytesIO()
    frame.to_parquet(out, row_group_size=rng.choice([3, 100]))
    return Made("parquet", out.getvalue(), ".parquet", plain_parquet)


def export(rng: random.Random) -> Made:
    """A sample of a tool's export: read as a whole, so that only the count can be compared."""
    name, path = rng.choice(sorted(exports().items()))
    text = path.read_text(encoding="utf-8")
    edited = rng.random() < 0.8
    if edited and path.suffix in (".csv", ".tsv"):
        text, _ = mutated_text(text, rng, ",")
    elif edited:
        text = scratched(text, rng, '{}[]",:\n 0n')
    return Made(name, text.encode(), path.suffix, None, intact=False)


def exports() -> dict[str, Path]:
    """Reader name -> sample file, from ``testkit.exports``."""
    if not _EXPORTS:
        try:
            from testkit.exports import write
        except ImportError:
            return {}
        folder = Path(tempfile.mkdtemp())
        _EXPORTS.update({name.partition(".")[0]: path for name, path in write(folder).items() if path.is_file()})
    return _EXPORTS


_EXPORTS: dict[str, Path] = {}
MAKERS = (delimited, delimited, delimited, wide, json_table, json_table, parquet, export)


def mutated_text(text: str, rng: random.Random, delimiter: str) -> tuple[str, bool]:
    """A delimited text with up to three changes, and whether there are any."""
    if rng.random() < 0.2:
        return text, False
    for _ in range(rng.randint(1, 3)):
        end = "\r\n" if "\r\n" in text else "\r" if "\r" in text else "\n"
        lines = text.split(end)
        at = rng.randrange(len(lines))
        change = rng.randrange(10)
        if change == 0:
            lines.insert(0, rng.choice(["", "", " "]))
        elif change == 1:
            lines.insert(at, lines[0])
        elif change == 2:
            lines.insert(at, rng.choice(lines))
        elif change == 3:
            del lines[at]
        elif change == 4:
            lines.insert(at, rng.choice(["", " ", delimiter, "\ufeff"]))
        elif change == 5:
            parts = lines[at].split(delimiter)
            parts[rng.randrange(len(parts))] = rng.choice(["", " ", "-1", " cat", "t1 ", "NA", "é", "e\u0301", "x"])
            lines[at] = delimiter.join(parts)
        elif change in (6, 7):  # a stray quote at the start or end of a cell
            parts = lines[at].split(delimiter)
            k = rng.randrange(len(parts))
            parts[k] = rng.choice(['"' + parts[k], parts[k] + '"', '"' + parts[k] + '"', '""' + parts[k]])
            lines[at] = delimiter.join(parts)
        else:
            lines[at] = scratched(lines[at], rng, f'"{delimiter} \n\rx-1é')
        text = end.join(lines)
    return text, True


def scratched(text: str, rng: random.Random, alphabet: str) -> str:
    """One character inserted, removed or replaced, or the end cut off."""
    at, new = rng.randint(0, len(text)), rng.choice(alphabet)
    return rng.choice([text[:at] + new + text[at:], text[:at] + text[at + 1 :], text[:at] + new + text[at + 1 :],
                       text[: at if rng.random() < 0.2 else len(text)]])  # fmt: skip

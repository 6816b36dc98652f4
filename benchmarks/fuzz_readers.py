"""Mutated files of every format, read by crowdcore and by Python's csv and json (and pyarrow for Parquet).

Claim: no traceback, no hang, and no silent difference in rows, task and worker ids, labels or gold. A file is read (all
is equal), asked about (something is to be accepted; what is left out is counted) or refused.
`python -m benchmarks.fuzz_readers [FILES [FIRST_SEED]]`; a seed makes the same file again.
"""

from __future__ import annotations

import csv
import io
import json
import random
import re
import sys
import tempfile
import time
import unicodedata
import warnings
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow.parquet as pq

from crowdcore.core.errors import CrowdError
from crowdcore.data import Import, examine

FILES = 100_000
SECONDS = 20.0  # of CPU for a file of some kilobytes
ROLES = ("task", "worker", "label", "gold")
MINUS_ONE = ("-1", "-1.0")
Row = dict[str, str | None]


class UnreadableError(Exception):
    """The parser of the standard library, or the plain rules of a table, refuse a file."""


@dataclass(frozen=True)
class Made:
    """A file and how to read it plainly.

    Args:
        kind: csv, wide, json …
        raw: its bytes.
        suffix: of its name.
        plain: its rows as another parser has them; None: there is none for this format.
        lines: whether each row must stand on a line of its own.
        intact: whether nothing was mutated.
    """

    kind: str
    raw: bytes
    suffix: str
    plain: Callable[[bytes], list[Row]] | None
    lines: bool = False
    intact: bool = True


# --- files -----------------------------------------------------------------------------------------------------------


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
        lines="two\nlines" not in out.getvalue(),
        intact=not edited,
    )


def wide(rng: random.Random) -> Made:
    names = [f"w{i + 1}" for i in range(rng.randint(2, 6))]
    labels = rng.choice([["cat", "dog"], ["0", "1", "2"], ["-1", "0", "1"], ["-1", "1"], ["-2", "-1", "1"]])
    header = ["task", *(["gold"] if rng.random() < 0.3 else []), *names]
    table = [header] + [[f"t{i}", *(rng.choice([*labels, ""]) for _ in header[1:])] for i in range(rng.randint(3, 15))]
    text, edited = mutated_text("\n".join(",".join(row) for row in table) + "\n", rng, ",")
    return Made("wide", text.encode(), ".csv", lambda raw: melted(cells(raw.decode(), ","), header), True, not edited)


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


def plain_parquet(raw: bytes) -> list[Row]:
    return [texts(row) for row in pq.read_table(io.BytesIO(raw)).to_pylist()]


def export(rng: random.Random) -> Made:
    """The sample of a tool's export, where tests bring some: read as a whole, only the count can be compared."""
    name, path = rng.choice(sorted(exports().items()))
    text = path.read_text(encoding="utf-8")
    edited = rng.random() < 0.8
    if edited and path.suffix in (".csv", ".tsv"):
        text, _ = mutated_text(text, rng, ",")
    elif edited:
        text = scratched(text, rng, '{}[]",:\n 0n')
    return Made(name, text.encode(), path.suffix, None, intact=False)


def exports() -> dict[str, Path]:
    """Reader name -> sample file, from ``tests.data.readers.exports``."""
    if not _EXPORTS:
        try:
            from tests.data.readers.exports import write
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


# --- what other parsers say ------------------------------------------------------------------------------------------


def cells(text: str, delimiter: str) -> list[list[str]]:
    """Rows of a delimited text by Python's strict parser, without blank lines."""
    lines = io.StringIO(text.removeprefix("\ufeff"), newline="")
    try:
        rows = [row for row in csv.reader(lines, delimiter=delimiter, strict=True) if row]
    except csv.Error as error:
        raise UnreadableError(str(error)) from None
    while rows and not delimiter.join(rows[0]).strip(" \t"):
        del rows[0]
    if not rows or any(len(row) != len(rows[0]) for row in rows):
        raise UnreadableError("rows of different length")
    return rows


def plain_rows(rows: list[list[str]]) -> list[Row]:
    names = [name.strip() for name in rows[0]]
    if any(names.count(role) > 1 for role in ROLES) or not {*ROLES[:3]} <= {*names}:
        raise UnreadableError("no column for each role")
    return [texts(dict(zip(names, row, strict=True))) for row in rows[1:] if not is_header(row, names)]


def is_header(row: list[str], names: list[str]) -> bool:
    return [cell.strip("\ufeff \t") for cell in row] == names


def melted(rows: list[list[str]], header: list[str]) -> list[Row]:
    names = [name.strip() for name in rows[0]]
    if names != header:
        raise UnreadableError("other columns")
    body = [texts(dict(zip(names, row, strict=True))) for row in rows[1:] if not is_header(row, names)]
    long = [
        {"task": row["task"], "worker": name, "label": row[name], "gold": row.get("gold")}
        for row in body
        for name in names
        if name not in ("task", "gold")
    ]
    found = {row["label"] for row in long if row["label"]}
    others = found - {*MINUS_ONE}
    if found & {*MINUS_ONE} and len(others) > 1 and not any(re.fullmatch("-[0-9.]+", word) for word in others if word):
        long = [row | {"label": None} if row["label"] in MINUS_ONE else row for row in long]
    return long


def plain_json(lines: bool) -> Callable[[bytes], list[Row]]:
    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(dict(pairs)) < len(pairs):
            raise UnreadableError("a name twice")
        return dict(pairs)

    def read(raw: bytes) -> list[Row]:
        text = raw.decode()
        try:
            parts = [line for line in text.split("\n") if line.strip()] if lines else [text]
            said = [json.loads(part, object_pairs_hook=once) for part in parts]
        except ValueError as error:
            raise UnreadableError(str(error)) from None
        said = said if lines else said[0]
        if not isinstance(said, list) or not all(isinstance(row, dict) for row in said):
            raise UnreadableError("no list of records")
        if any(isinstance(row.get(role), (list, dict)) for row in said for role in ROLES):
            raise UnreadableError("a list or a record for a name")
        rows = [texts(row) for row in said]
        if any("\ud800" <= c <= "\udfff" for row in rows for word in row.values() for c in word or ""):
            raise UnreadableError("half a surrogate pair")
        return rows

    return read


def texts(row: dict[str, Any]) -> Row:
    """The roles of a row as text; None: nothing."""

    def text(value: Any) -> str | None:
        if value is None or value != value:
            return None
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        return unicodedata.normalize("NFC", str(value).strip()) or None

    return {role: text(row.get(role)) for role in ROLES} | {
        name: text(value) for name, value in row.items() if name.startswith("w") and name != "worker"
    }


# --- the comparison --------------------------------------------------------------------------------------------------


def check(made: Made, folder: Path) -> str:
    """Read a file both ways: ``"read"``, ``"asked"`` or ``"refused"``.

    Raises:
        AssertionError: the two differ in silence.
    """
    path = folder / f"labels{made.suffix}"
    path.write_bytes(made.raw)
    try:
        rows = None if made.plain is None else made.plain(made.raw)
        refused = ""
    except UnreadableError as error:
        rows, refused = None, str(error)
    start = time.process_time()
    try:
        found = examine(path)
        dataset = found.dataset(accept=True)
    except CrowdError as error:
        assert 10 < len(str(error)) < 1000, "a refusal says what is wrong in one sentence"
        excused = refused or (rows is not None and not kept(rows))
        assert not made.intact or excused, f"an intact file is refused: {error}"
        return "refused"
    finally:
        assert time.process_time() - start < SECONDS, "reading takes far too long"
    report = found.report
    assert report.n_rows == report.n_annotations + report.n_left_out
    assert not refused or "no column" in refused or "other columns" in refused, f"read, though: {refused}"
    if made.lines and not report.changes and not refused:
        compare("lines", physical_lines(made), table_rows(found))
    if rows is not None and report.format in ("long", "wide"):
        compare_rows(rows, found)
        assert dataset.n_annotations == report.n_annotations
    return "asked" if report.changes else "read"


def kept(rows: list[Row]) -> list[Row]:
    return [row for row in rows if all(row.get(role) for role in ROLES[:3])]


def compare_rows(rows: list[Row], found: Import) -> None:
    want = kept(rows)
    dataset = found.dataset(accept=True)
    table = dataset.annotations.astype(str)
    got = Counter(zip(table["task"], table["worker"], table["label"], strict=True))
    compare("annotations", Counter((row["task"], row["worker"], row["label"]) for row in want), got)
    header = sum(f.left_out for f in found.report.findings if f.code == "repeated-header")
    compare("rows left out", len(rows) - len(want), found.report.n_left_out - header)
    if len(want) < len(rows) and found.report.format == "long":
        assert found.report.changes, "rows are left out without asking"
    gold: dict[str, set[str]] = {}
    labels = {row["label"] for row in rows if row["label"]}
    for row in rows:
        value = row.get("gold")
        if row["task"] and value and not (value in MINUS_ONE and not labels & {*MINUS_ONE}):
            gold.setdefault(row["task"], set()).add(value)
    known = {task: dataset.classes[g] for task, g in zip(dataset.task_ids, dataset.gold, strict=True) if g >= 0}
    compare("gold", {task: values.copy().pop() for task, values in gold.items() if len(values) == 1}, known)


def compare(what: str, want: object, got: object) -> None:
    assert want == got, f"{what} differ:\n  plainly    {want}\n  crowdcore  {got}"


def physical_lines(made: Made) -> int:
    text = made.raw.decode("utf-16" if made.raw[:2] == b"\xff\xfe" else "utf-8-sig")
    return (
        sum(bool(line) for line in text.replace("\r\n", "\n").replace("\r", "\n").lstrip("\ufeff\n \t").split("\n")) - 1
    )


def table_rows(found: Import) -> int:
    if found.report.format != "wide":
        return found.report.n_rows
    return found.report.n_rows // int(found.report.roles["worker"].split()[0])


def one(seed: int, folder: Path) -> tuple[str, str]:
    """Kind and verdict of a seed's file; a fault is printed with the file.

    Raises:
        AssertionError: a silent difference, a traceback or a hang; says with which file.
    """
    rng = random.Random(seed)
    maker = rng.choice(MAKERS if exports() else MAKERS[:-1])
    made = maker(rng)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            return made.kind, check(made, folder)
    except Exception as error:
        raise AssertionError(f"seed {seed} ({made.kind}): {type(error).__name__}: {error}\n{made.raw!r}") from error


def many(seeds: range) -> tuple[Counter[tuple[str, str]], list[str]]:
    verdicts: Counter[tuple[str, str]] = Counter()
    faults = []
    with tempfile.TemporaryDirectory() as folder:
        for seed in seeds:
            try:
                verdicts[one(seed, Path(folder))] += 1
            except AssertionError as fault:
                faults.append(str(fault))
    return verdicts, faults


def main() -> int:
    n, first = (int(word) for word in (*sys.argv[1:3], *(FILES, 0)[len(sys.argv) - 1 :]))
    step = max(n // 100, 1)
    verdicts: Counter[tuple[str, str]] = Counter()
    faults: list[str] = []
    start = time.perf_counter()
    with ProcessPoolExecutor() as pool:
        for part, found in pool.map(many, [range(i, min(i + step, first + n)) for i in range(first, first + n, step)]):
            verdicts += part
            faults += found
    names = ("read", "asked", "refused")
    print(f"{n:,} files in {time.perf_counter() - start:.0f} s\n{'':22}" + "".join(f"{name:>10}" for name in names))
    for kind in sorted({kind for kind, _ in verdicts}):
        print(f"{kind:22}" + "".join(f"{verdicts[kind, name]:10,}" for name in names))
    print(*faults[:20], sep="\n\n")
    print(f"claim: no traceback, no hang, no silent difference; {len(faults)} of {n:,} files differ: "
          f"{'NOT met' if faults else 'met'}")  # fmt: skip
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())

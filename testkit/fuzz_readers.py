"""Mutated files read by crowdcore and, as an independent oracle, by the csv and json modules and pyarrow."""

from __future__ import annotations

import random
import re
import tempfile
import time
import warnings
from collections import Counter
from pathlib import Path

from crowdcore.core.errors import CrowdError
from crowdcore.data import Import, MappingError, examine
from testkit.mutated_files import MAKERS, Made, exports
from testkit.plain_readers import MINUS_ONE, ROLES, Row, UnreadableError, cells

SECONDS = 20.0  # of CPU for a file of some kilobytes


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
        imported = examine(path)
        dataset = imported.dataset(accept=True)
    except CrowdError as error:
        assert 10 < len(str(error)) < 1000, "a refusal says what is wrong in one sentence"
        hits = made.kind == "wide" and isinstance(error, MappingError)  # workers who share no label
        excused = hits or refused or (rows is not None and not kept(rows))
        assert not made.intact or excused, f"an intact file is refused: {error}"
        return "refused"
    finally:
        assert time.process_time() - start < SECONDS, "reading takes far too long"
    report = imported.report
    assert report.n_rows == report.n_annotations + report.n_left_out
    codes = {finding.code for finding in report.findings} & {"title-rows", "extra-headers", "no-header", "multi-select"}
    assert not refused or codes or "no column" in refused or "other columns" in refused, f"read, though: {refused}"
    if made.delimiter and not report.changes and not refused:
        swallowed = [cell for row in cells(text_of(made), made.delimiter) for cell in row if made.delimiter in cell]
        names = re.compile(r"[tw][0-9].*[\r\n]|[\r\n].*[tw][0-9]")
        assert not any(map(names.search, swallowed)), f"a cell swallowed rows in silence: {swallowed}"
    if rows is not None and report.format in ("long", "wide"):
        compare_rows(rows, imported)
        assert dataset.n_annotations == report.n_annotations
    return "asked" if report.changes else "read"


def kept(rows: list[Row]) -> list[Row]:
    return [row for row in rows if all(row.get(role) for role in ROLES[:3])]


def compare_rows(rows: list[Row], imported: Import) -> None:
    want = kept(rows)
    dataset = imported.dataset(accept=True)
    table = dataset.annotations.astype(str)
    got = Counter(zip(table["task"], table["worker"], table["label"], strict=True))
    compare("annotations", Counter((row["task"], row["worker"], row["label"]) for row in want), got)
    header = sum(f.left_out for f in imported.report.findings if f.code == "repeated-header")
    compare("rows left out", len(rows) - len(want), imported.report.n_left_out - header)
    if len(want) < len(rows) and imported.report.format == "long":
        assert imported.report.changes, "rows are left out without asking"
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


def text_of(made: Made) -> str:
    return made.raw.decode("utf-16" if made.raw[:2] == b"\xff\xfe" else "utf-8-sig")


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

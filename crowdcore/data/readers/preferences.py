"""Pairwise preferences: the better one of two answers, or a tie, whichever side each was shown on."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import chain
from typing import ClassVar, NamedTuple

import numpy as np
import pyarrow as pa

from crowdcore.core.errors import DataError, Remedy
from crowdcore.core.types import BoolArray, IntArray
from crowdcore.data.columns import ALIASES, WEAK_ALIASES, assign_roles, plain
from crowdcore.data.dictionary import Codes, compact, distinct, strings
from crowdcore.data.encoder import encode
from crowdcore.data.readers._stacked import ABOUT_TASKS, Block, cells_of, constant, stack
from crowdcore.data.readers.base import Raw, RawTasks, Reader, Source, read_annotations
from crowdcore.data.report import Finding, plural
from crowdcore.data.settings import ReadSettings
from crowdcore.data.tables import Table

_BETTER, _WORSE = ("winner", "chosen", "better", "preferred", "won"), ("loser", "rejected", "worse", "rejected", "lost")
_ORDERED = tuple(zip(_BETTER, _WORSE, strict=True))
"""Pairs of column names in the order of the verdict, which is the first one."""
_SIDES = (("a", "b"), ("1", "2"), ("left", "right"), ("first", "second"), *_ORDERED)
_ALONE = {side for sides in _SIDES[2:] for side in sides}  # sides that may be the whole name of a column
_QUESTION = (
    *("question_id", "prompt_id", "instruction_id", "pair_id", "comparison_id", "question", "prompt", "instruction"),
    *("query", "input"),
)
_WINNER = {"winner", "preference", "preferred", "chosen", "choice", "better", "best"}
_VERDICT = {*ALIASES["label"], *WEAK_ALIASES["label"], *_WINNER}
_NUMBERS = {"0", "1", "1.0", "1.5", "2", "2.0", "3"}  # 1 and 2 are the sides, and no grades from 1 to 5
_DRAWN = "is_switched_outputs"  # AlpacaEval's: True if the second output was shown first, drawn at random
_NEAREST = Finding(
    "nearest-side",
    "note",
    "Preferences are numbers from 1 to 2: the label is the nearer side, 1.5 a tie; the column 'share' has the number",
)
_SHARE = re.compile(r"1(\.\d+)?|2(\.0*)?")
_MOST_TIES = 3
_MOST_VERDICTS = 12
_LONG = 40


class Preferences(Reader):
    """The task is a question with two answers in alphabetical order; a verdict on swapped ones is mirrored."""

    name: ClassVar[str] = "preferences"
    title: ClassVar[str] = "Pairwise preferences (two sides and a winner)"

    def fits(self, source: Source, settings: ReadSettings) -> float:
        """Two columns are named like sides, another one holds their names or content, and there are workers."""
        if source.table is None or settings.turn or settings.task or settings.workers:
            return 0.0
        return 0.66 if _find(source.table, settings) else 0.0

    def read(self, source: Source, settings: ReadSettings) -> Raw:
        """Read the verdicts."""
        table = source.need_table()
        layout = _find(table, settings)
        if layout is None:
            what = "No two columns such as model_a and model_b stand beside one that says which is better"
            raise DataError(what, file=source.path, code="columns", remedies=(Remedy("format", "long"),))
        return _long(table, settings, layout) if layout.worker else _wide(table, settings, layout)


class _Layout(NamedTuple):
    """Columns: the two sides, the question, the verdicts, and the worker (None: each verdict column is a worker)."""

    sides: tuple[str, str]
    question: tuple[str, ...]
    verdicts: tuple[str, ...]
    worker: str | None


def _find(table: Table, settings: ReadSettings) -> _Layout | None:
    pairs, of_sides = _pairs_of_sides(table)
    roles = assign_roles(table, settings) if pairs else {}
    for sides in pairs:
        rest = [c for c in table.columns if c not in of_sides]
        worker = roles.get("worker") or next((c for c in rest if plain(c) in WEAK_ALIASES["worker"]), None)
        rest = [c for c in rest if c != worker]
        likely = [settings.label] if settings.label else [c for c in rest if c != roles.get("gold")]
        if _are_ordered(sides):
            likely = [sides[0]] if roles.get("label") in (None, *sides) else []
        verdicts = [c for c in likely if _is_verdict(table, c, sides)]
        if worker is not None:
            verdicts = sorted(verdicts, key=lambda column: plain(column) not in _VERDICT)[:1]
        if not verdicts or (worker is None and len(verdicts) < 2):
            continue
        by_name = {plain(c): c for c in rest if c not in verdicts}
        question = [by_name[name] for name in (*_QUESTION, *ALIASES["task"]) if name in by_name][:1]
        both = [*zip(*map(table.words, (*sides, *([] if worker is None else [worker]))), strict=True)]
        if not question and worker is not None:  # a column that distinguishes a worker's verdicts on the same answers
            apart = {c: len({*zip(both, table.words(c), strict=True)}) for c in by_name.values()}
            question = [c for c, n in apart.items() if n == len(both) > len({*both})][:1]
        once = 2 * len({*both}) > len(both)  # few workers see the same two answers again
        question = [c for c in question if len(set(cells_of(table, c))) < len(table.head) or worker is None or not once]
        turn = [by_name["turn"]] if "turn" in by_name else []
        return _Layout(sides, (*question, *turn), tuple(verdicts), worker)
    return None


def _are_ordered(sides: tuple[str, str]) -> bool:
    """Return whether the names of two columns say that the first holds the better answer."""
    words = [{*plain(column).split("_")} for column in sides]
    return any(one in words[0] and other in words[1] for one, other in _ORDERED)


def _pairs_of_sides(table: Table) -> tuple[list[tuple[str, str]], set[str]]:
    """Pairs of columns whose names differ only in the side, those with the fewest different cells first; and all such.

    No third column is named so (as of a third worker), and their cells hardly ever agree (as those of workers would).
    """
    words = {c: re.split(r"[^a-z0-9]+|(?<=[a-z])(?=[0-9])", c.strip().lower()) for c in table.columns}
    kinds: dict[tuple[str, ...], dict[str, str]] = {}
    for column, parts in words.items():
        for k in range(len(parts) if len(parts) > 1 or parts[0] in _ALONE else 0):
            kinds.setdefault((str(k), *parts[:k], *parts[k + 1 :]), {})[parts[k]] = column
    pairs = [
        (columns[one], columns[other])
        for columns in kinds.values()
        for one, other in _SIDES
        if len(columns) == 2 and {one, other} == {*columns}
    ]
    cells = {sides: [*zip(*map(table.words, sides), strict=True)] for sides in pairs}
    apart = [sides for sides in pairs if sum(a == b for a, b in cells[sides]) <= 0.05 * len(cells[sides])]
    return sorted(apart, key=lambda sides: len({*chain(*cells[sides])})), {*chain(*pairs)}


def _is_verdict(table: Table, column: str, sides: tuple[str, str]) -> bool:
    """Return whether most cells of a column name a side or its content, and there are few different ties."""
    rows = zip(*map(table.words, (*sides, column)), strict=True)
    given = [row for row in rows if row[2]]
    values = {verdict for _, _, verdict in given}
    if plain(column) in _WINNER and _are_shares(values):
        return True
    if len(values) > 1 and any(mirror != v for v, mirror in _mirrors(values).items()):
        return len(values) <= _MOST_VERDICTS
    ties = [verdict for one, other, verdict in given if verdict not in (one, other)]
    return len(values) > 1 and len({*ties}) <= _MOST_TIES and 2 * len(ties) < len(given)


def _are_shares(values: Iterable[str]) -> bool:
    """Return whether verdicts are many numbers from 1, the first side, to 2, the second, and few words for no label."""
    names = {*values} - {""}
    numbers = [*filter(_SHARE.fullmatch, names)]
    return len(numbers) > _MOST_TIES and len(names) - len(numbers) <= _MOST_TIES


def _nearest(label: Codes) -> Codes:
    """Numbers from 1 to 2 as the nearer side, and the middle as a tie; words unchanged."""
    sides = ("1", "1.5", "2")
    near = [sides[1 + int(np.sign(float(t) - 1.5))] if _SHARE.fullmatch(t) else t for t in _texts(label)]
    place = {text: k for k, text in enumerate(dict.fromkeys(near))}
    return compact(strings([*place]), np.array([*map(place.__getitem__, near), -1], np.int32)[label.codes])


def _mirrors(values: Iterable[str]) -> dict[str, str]:
    """Verdict -> the verdict on the same answers with sides swapped; itself if it names no side."""
    names = {*values}
    same = {name: name for name in names}
    if all(re.fullmatch("[<>=~]+", name) for name in names):
        return {name: name[::-1].translate(str.maketrans("<>", "><")) for name in names}
    if all(re.fullmatch(r"[-+]?\d+(\.\d+)?", name) for name in names):
        if any(float(name) < 0 for name in names):
            numbers = {float(name): name for name in names}
            return {name: numbers.get(-float(name), f"{-float(name):g}") for name in names}
        if not names <= _NUMBERS or len(names) > _MOST_TIES:
            return same
    for sides in _SIDES:
        both = (sides, sides[::-1])
        swap = {form(one): form(other) for one, other in both for form in (str, str.upper, str.capitalize)}
        mirrors = {n: "".join(swap.get(part, part) for part in re.split(r"([A-Za-z]+|\d+)", n)) for n in names}
        pairs = {name for name, mirror in mirrors.items() if mirror != name and mirror in names}
        if len(pairs) > 1 and len(names - pairs) <= _MOST_TIES + len(pairs) // 2:
            return {name: mirrors[name] if mirrors[name] in names or ">" in name else name for name in names}
    return same


def _long(table: Table, settings: ReadSettings, layout: _Layout) -> Raw:
    """A row for each verdict."""
    named = {"task": layout.question[0] if layout.question else layout.sides[0], "worker": layout.worker}
    raw = read_annotations(table, settings.model_copy(update={**named, "label": layout.verdicts[0]}), "preferences")
    extra = {} if raw.extra is None else {c: raw.extra[c] for c in raw.extra.column_names}
    if shares := _are_shares(_texts(raw.label)):
        extra["share"] = raw.label.values.take(pa.array(raw.label.codes, mask=raw.label.missing))
        raw = replace(raw, label=_nearest(raw.label), extra=pa.table(extra))
    columns = {layout.verdicts[0]: raw.label, named["task"]: raw.task}
    columns |= {c: encode(extra[c]) for c in (*layout.sides, *layout.question) if c in extra}
    task, swapped = _tasks([columns[c] for c in layout.question], *(columns[c] for c in layout.sides))
    sides = ("first", "second") if _are_ordered(layout.sides) else layout.sides
    how = swapped, (columns[layout.sides[0]], columns[layout.sides[1]]), sides
    if (tasks := raw.tasks) is not None:
        tasks = replace(tasks, task=task, gold=tasks.gold and _sort_sides(tasks.gold, *how))
    roles = {**raw.roles, "task": " / ".join((*layout.question, *layout.sides))}
    quiet = [f for f in raw.findings if f.code != "alias-rival" and f.column != named["task"]]
    findings = (*quiet, _finding(swapped, layout, _texts(raw.label), settings), *([_NEAREST] if shares else []))
    more = _with_order(extra, task, raw.worker, swapped)
    label = _sort_sides(raw.label, *how)
    return replace(raw, task=task, label=label, tasks=tasks, roles=roles, findings=findings, extra=more or raw.extra)


def _with_order(extra: Mapping[str, pa.Array], task: Codes, worker: Codes, swapped: BoolArray) -> pa.Table | None:
    """The further columns and ``swapped``: whether the later answer was shown first; None if that is no evidence.

    It is evidence if each worker's order was drawn (`_DRAWN`), and else for tasks that a worker saw in both orders: an
    answer that is always shown first is also always that of one model.
    """
    drawn = next((extra[name] for name in extra if plain(name) == _DRAWN), None)
    if "swapped" in extra:
        return None
    if drawn is not None:
        words = encode(drawn)
        turned = np.array([*(text.lower() in ("true", "1", "1.0") for text in _texts(words)), False])[words.codes]
        swapped, both = swapped ^ turned, words.codes >= 0
    else:
        each = np.unique(np.column_stack([task.codes, worker.codes]), axis=0, return_inverse=True)[1].ravel()
        n, later = np.bincount(each), np.bincount(each, swapped)
        both = ((later > 0) & (later < n))[each]
    return pa.table({**extra, "swapped": pa.array(swapped, mask=~both)}) if both.any() else None


def _wide(table: Table, settings: ReadSettings, layout: _Layout) -> Raw:
    """A row for each pair of answers, a column of verdicts for each worker."""
    roles = {r: c for r, c in assign_roles(table, settings).items() if r in ABOUT_TASKS and r != "task"}
    columns = tuple(dict.fromkeys([*layout.question, *layout.sides, *layout.verdicts, *roles.values()]))
    codes, _ = table.encode(columns)
    sides = codes[layout.sides[0]], codes[layout.sides[1]]
    task, swapped = _tasks([codes[c] for c in layout.question], *sides)
    blocks = [
        Block(task, constant(column, len(task)), _sort_sides(codes[column], swapped, sides, layout.sides))
        for column in layout.verdicts
    ]
    about = {"task": task, **{role: codes[column] for role, column in roles.items()}}
    if "gold" in about:
        about["gold"] = _sort_sides(about["gold"], swapped, sides, layout.sides)
    tasks = None if len(about) == 1 else RawTasks.of(about, False, table.escaped)
    roles |= {"task": " / ".join((*layout.question, *layout.sides)), "worker": plural(len(blocks), "column")}
    finding = _finding(swapped, layout, {v for column in layout.verdicts for v in _texts(codes[column])}, settings)
    return stack("preferences", table, settings, blocks, roles, tasks, findings=(finding,))


def _tasks(question: list[Codes], a: Codes, b: Codes) -> tuple[Codes, BoolArray]:
    """(n,) the question with both answers in alphabetical order, and mask of those shown in the other order."""
    number = {name: k for k, name in enumerate(sorted({*_texts(a), *_texts(b)}))}
    one, other = (_numbers_of(codes, number) for codes in (a, b))
    parts: list[IntArray] = [*(c.codes for c in question), np.minimum(one, other), np.maximum(one, other)]
    pairs, row = np.unique(np.column_stack(parts), axis=0, return_inverse=True)
    words, short = [_texts(codes) for codes in question], [*map(_short, number)]

    def between(first: int, second: int) -> str:
        return f"{short[first]} | {short[second]}"

    texts = [
        None if min(pair) < 0 else " / ".join([*(w[k] for w, k in zip(words, pair, strict=False)), between(*pair[-2:])])
        for pair in pairs.tolist()
    ]
    return distinct(pa.array(texts, pa.large_string()), row.astype(np.int32).ravel()), one > other


def _texts(codes: Codes) -> list[str]:
    return [value.strip() for value in codes.values.to_pylist()]


def _numbers_of(codes: Codes, number: Mapping[str, int]) -> IntArray:
    """(n,) the number of each cell's text, -1 where there is none."""
    return np.array([*(number[text] for text in _texts(codes)), -1])[codes.codes]


def _short(text: str) -> str:
    """A text shortened for a task's name, but still different from others."""
    flat = " ".join(text.split())
    return flat if len(flat) <= _LONG else f"{flat[: _LONG - 8]}… {zlib.crc32(text.encode()) & 0xFFFF:04x}"


def _sort_sides(label: Codes, swapped: BoolArray, sides: tuple[Codes, Codes], columns: tuple[str, str]) -> Codes:
    """(n,) verdicts on the answers in alphabetical order; the name of an answer becomes that of its side."""
    mirrors = _mirrors(_texts(label))
    every = [*dict.fromkeys([*columns, *mirrors, *mirrors.values()])]
    place = {value: k for k, value in enumerate(every)}
    turned = {value: place[mirror] for value, mirror in mirrors.items()}
    codes = np.where(swapped, _numbers_of(label, turned), _numbers_of(label, place))
    if all(mirror == value for value, mirror in mirrors.items()):
        shared = {text: k for k, text in enumerate({*mirrors, *_texts(sides[0]), *_texts(sides[1])})}
        chosen = _numbers_of(label, shared)
        for k, of_side in enumerate(_numbers_of(side, shared) for side in sides):
            codes = np.where((chosen == of_side) & (chosen >= 0), np.where(swapped, 1 - k, k), codes)
    return compact(strings(every), codes.astype(np.int32))


def _finding(swapped: BoolArray, layout: _Layout, values: Iterable[str], settings: ReadSettings) -> Finding:
    """Finding on the order of the sides; a question if numbers or letters may be other classes."""
    one, other = layout.sides
    if _are_ordered(layout.sides):
        sentence = f"Each task is a pair of answers in alphabetical order: {one!r} says which of them is better"
        return Finding("sides", "note", sentence, int(swapped.sum()), remedies=(Remedy("format", "long", when="not"),))
    sentence = (
        f"Each task is {'a question with ' if layout.question else ''}two answers in alphabetical order. "
        f"{plural(int(swapped.sum()) * len(layout.verdicts), 'verdict')} on answers shown the other way round were "
        f"turned: {one!r} means the first answer, {other!r} the second"
    )
    plainly = settings.format is not None or _name_sides(layout, {*values})
    remedies = (
        *(() if plainly else (Remedy("format", "preferences", when="so"),)),
        Remedy("format", "long" if layout.worker else "wide", when="the labels are about something else"),
    )
    return Finding("sides", "note" if plainly else "question", sentence, int(swapped.sum()), remedies=remedies)


def _name_sides(layout: _Layout, values: set[str]) -> bool:
    """Return whether verdicts surely name sides: by the name of their column, answers' names, ``>``, or words."""
    if any(plain(column) in _WINNER for column in layout.verdicts) or any(set("<>") & {*value} for value in values):
        return True
    if all(mirror == value for value, mirror in _mirrors(values).items()):
        return True
    one, other = ({*re.split("[^a-z0-9]+", column.strip().lower())} for column in layout.sides)
    words = {word for value in values for word in re.split("[^a-z0-9]+", value.lower())}
    return bool(one - other | other - one) and one ^ other <= words and not any(w.isdigit() for w in one ^ other)

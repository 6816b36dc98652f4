"""Verdicts of judges, and answers of models, as several tools record them: their task, worker and label.

A *verdict* is a judge's opinion of an item. A *run* is a model's own answer to an item: the label is the answer if all
answers are words of one short list, else whether it was right, with ``right`` as gold everywhere.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from typing import Any, NamedTuple

from crowdcore.core.errors import DataError, Remedy, SettingError
from crowdcore.data.readers._answers import Answers, text_of
from crowdcore.data.readers.base import Raw, Source
from crowdcore.data.report import Finding, Level, plural
from crowdcore.data.settings import ReadSettings

ORDERS = tuple(
    tuple(words.split())
    for words in (
        "N I P C",
        "incorrect partial correct",
        "wrong partial right",
        "fail pass",
        "failed passed",
        "bad poor fair okay ok good excellent",
        "no unsure maybe yes",
        "n y",
        "false true",
        "reject rejected approve approved accept accepted",
        "unsafe harmful safe harmless",
        "not_relevant irrelevant partially_relevant relevant",
        "negative neutral positive",
        "disagree agree",
        "invalid valid",
        "unacceptable acceptable",
        "low medium high",
        "worse same better",
        "loss lose draw win",
        "first tie second",
        "1st tie 2nd",
        "A tie B",
        "A C B",
        "model_a tie model_b",
        "B>>A B>A A=B A>B A>>B",
        "A<<B A<B A=B A>B A>>B",
        "B>A tie A>B",
    )
)
"""Words of verdicts from low to high, or from one side to the other."""
RIGHT, WRONG = "right", "wrong"
_OUTCOMES = {
    **dict.fromkeys(("1", "c", "true", "correct", "pass", "passed", "yes", RIGHT), RIGHT),
    **dict.fromkeys(("0", "i", "false", "incorrect", "fail", "failed", "no", WRONG), WRONG),
    **dict.fromkeys(("p", "partial", "0.5"), "partial"),
    **dict.fromkeys(("n", "noanswer", "no answer"), "no answer"),
}
_MOST, _LONG, _SHOWN = 30, 60, 20  # words of a list, their letters, and questions to choose from
_NUMBER = re.compile(r"[-+]?\d+(\.\d+)?(e[-+]?\d+)?")
_SAME = 0.98  # least share of answers that are scored as right exactly if they are the target


class Verdict(NamedTuple):
    """A judge's verdict on an item.

    Args:
        row: its row.
        judge: the judge's name.
        item: the item's name.
        label: the verdict, None if there is none.
        question: the question that was judged.
        gold: the true label.
        lost: reason why it is left out, if there is no label.
        text: content of the item.
        when: time of the verdict.
        swapped: whether the second of two answers was shown first.
    """

    row: int
    judge: str | None
    item: str
    label: object
    question: str = ""
    gold: object = None
    lost: str = "no-score"
    text: str | None = None
    when: object = None
    swapped: bool | None = None


class Run(NamedTuple):
    """A model's answer to an item.

    Args:
        row: its row.
        part: the task, benchmark or evaluation.
        item: the item's name in it.
        model: the model's name.
        answer: the answer, None if unknown.
        target: the right answer.
        outcome: the score.
        lost: reason why it is left out, if neither answer nor score is known.
        text: content of the item.
    """

    row: int
    part: str
    item: str
    model: str
    answer: str | None
    target: str | None
    outcome: object
    lost: str = "no-score"
    text: str | None = None


def name_of(*parts: object) -> str:
    """``a / b`` of the parts that are not missing."""
    return " / ".join(text for part in parts if (text := text_of(part)))


def read_verdicts(
    form: str,
    source: Source,
    settings: ReadSettings,
    verdicts: Iterable[Verdict],
    columns: dict[str, str],
    findings: Sequence[Finding] = (),
) -> Raw:
    """The verdicts on one question: the one that the settings name, else that of most judges, with a question about it.

    Args:
        form: the reader's name.
        source: the source of the verdicts.
        settings: for reading them.
        verdicts: in the order of the file.
        columns: role -> its column or field.
        findings: those so far.
    """
    given = [*verdicts]
    given, left_out = _one_question(given, settings)
    given, other = _one_language(given)
    answers = Answers(source, settings, columns)
    for verdict in given:
        if not verdict.item:
            answers.leave_out("no-item", verdict.row, verdict.judge)
            continue
        label = verdict.label if isinstance(verdict.label, list) else [verdict.label]
        if all(text_of(part) in (None, "") for part in label):
            answers.leave_out(verdict.lost, verdict.row, verdict.judge)
            continue
        answers.list_task(verdict.item, text=verdict.text)
        answers.add(verdict.row, verdict.item, verdict.judge, label, when=verdict.when, swapped=verdict.swapped)
        if gold := text_of(verdict.gold):
            answers.gold.setdefault(verdict.item, {}).setdefault(gold, verdict.row)
    words = {*answers.label, *(word for golds in answers.gold.values() for word in golds)}
    more, unknown = ordered(words, settings, ask=columns["label"] != "answer")
    alone = _alone({*answers.worker}, columns["worker"])
    return answers.raw(form, findings=[*findings, *left_out, *other, *alone, *unknown], **more)


def has_question(verdict: Verdict) -> bool:
    """Return whether a verdict has a question; an output that was not judged has none."""
    return bool(verdict.question) or text_of(verdict.label) is not None or isinstance(verdict.label, list)


def in_order(words: Collection[str]) -> tuple[str, ...]:
    """Verdicts from low to high, as they are spelled; empty if a word is not known."""
    for order in ORDERS:
        place = {word.casefold(): k for k, word in enumerate(order)}
        if words and all(word.casefold() in place for word in words):
            return tuple(sorted(words, key=lambda word: (place[word.casefold()], word)))
    return ()


def ordered(words: Collection[str], settings: ReadSettings, ask: bool = True) -> tuple[dict[str, Any], list[Finding]]:
    """Fields of `Raw` for known words of classes; else, if ``ask``, a question which of two is the better one."""
    if order := in_order(words):
        return {"classes": order, "classes_from": "words of verdicts"}, []
    if settings.classes or len(words) != 2 or not ask or any(_NUMBER.fullmatch(word) for word in words):
        return {}, []
    low, high = sorted(words)
    sentence = (
        f"Which of {low!r} and {high!r} is the better verdict is not known; {high!r} stands last, as by the alphabet"
    )
    remedy = Remedy("classes", [high, low], when=f"{low!r} is the better one")
    return {}, [Finding("unknown-verdicts", "question", sentence, remedies=(remedy,))]


def _one_question(given: list[Verdict], settings: ReadSettings) -> tuple[list[Verdict], list[Finding]]:
    """The verdicts on one question, and findings on the others."""
    judges: dict[str, set[str | None]] = {}
    for verdict in filter(has_question, given):
        judges.setdefault(verdict.question, set()).add(verdict.judge)
    names = [*judges]
    _check_question(settings, names)
    if len(names) < 2:
        return given, []
    sizes = Counter(verdict.question for verdict in filter(has_question, given))
    chosen = settings.question or max(names, key=lambda name: (len(judges[name]), sizes[name]))
    left = sizes.total() - sizes[chosen]
    answered = settings.question is not None
    remedies = tuple(Remedy("question", name) for name in names[:_SHOWN] if not (answered and name == chosen))
    sentence = f"There are {plural(len(names), 'question')}; of these {chosen!r} was read"
    level: Level = "note" if answered else "question"
    code, shown = "other-questions" if answered else "several-questions", tuple(names[:5])
    finding = Finding(code, level, sentence, left, examples=shown, left_out=left, remedies=remedies)
    return [verdict for verdict in given if verdict.question == chosen or not has_question(verdict)], [finding]


def _check_question(settings: ReadSettings, names: Sequence[str]) -> None:
    if settings.question is not None and settings.question not in names:
        raise SettingError("question", f"be one of {', '.join(map(repr, names[:_SHOWN]))}", settings.question)


def _language(word: str) -> str:
    """The vocabulary of a word: numbers, the words of an order, or itself."""
    if _NUMBER.fullmatch(word):
        return "a number"
    return next((" ".join(order) for order in ORDERS if word.casefold() in {w.casefold() for w in order}), word)


def _one_language(given: list[Verdict]) -> tuple[list[Verdict], list[Finding]]:
    """The verdicts of judges who share words; judges who only use others are left out, with a question about it."""
    vocabulary: dict[str | None, set[str]] = {}
    for verdict in given:
        if word := text_of(verdict.label):
            vocabulary.setdefault(verdict.judge, set()).add(_language(word))
    groups: list[tuple[set[str | None], set[str]]] = []
    for judge, words in vocabulary.items():
        joined = [group for group in groups if group[1] & words]
        groups = [group for group in groups if not group[1] & words]
        groups.append(({judge}.union(*(g[0] for g in joined)), words.union(*(g[1] for g in joined))))
    if len(groups) < 2:
        return given, []
    sizes = Counter(verdict.judge for verdict in given)
    kept = max(groups, key=lambda group: (len(group[0]), sum(sizes[judge] for judge in group[0])))[0]
    others = [judge for judge in vocabulary if judge not in kept]
    left = sum(sizes[judge] for judge in others)
    sentence = (
        f"{plural(len(others), 'judge')} without a verdict in common with the others left out: "
        f"{', '.join(map(repr, others[:5]))}"
    )
    remedy = "Read them alone, or write all verdicts in the same words."
    finding = Finding("other-words", "question", sentence, left, left_out=left, remedy=remedy)
    return [verdict for verdict in given if verdict.judge in kept or verdict.judge not in vocabulary], [finding]


def _alone(judges: set[str | None], what: str) -> list[Finding]:
    if len(judges) > 1:
        return []
    sentence = f"There is one {what} alone, {next(iter(judges), None)!r}, and nobody to compare it with"
    return [Finding("one-judge", "warning", sentence, 1, remedy="Put the files of others beside it, in one folder.")]


def read_runs(
    form: str,
    source: Source,
    settings: ReadSettings,
    runs: Iterable[Run],
    columns: dict[str, str],
    findings: Sequence[Finding] = (),
) -> Raw:
    """The models' answers, or whether they are right.

    Args:
        form: the reader's name.
        source: the source of the runs.
        settings: for reading them: ``question`` names a part, ``label`` is ``answer`` or ``score``.
        runs: in the order of the file.
        columns: role -> its column or field.
        findings: those so far.

    Raises:
        DataError: the scores are numbers, which do not say whether an answer is right.
    """
    every = [*runs]
    parts = [*dict.fromkeys(run.part for run in every)]
    _check_question(settings, parts)
    chosen = [run for run in every if settings.question in (None, run.part)]
    noticed = [*findings]
    if left := len(every) - len(chosen):
        sentence = f"{settings.question!r} was read, and no other of {plural(len(parts), 'part')}"
        noticed.append(Finding("other-questions", "note", sentence, left, left_out=left))
    several = len(parts) > 1 and settings.question is None
    answered = _are_closed(chosen) if settings.label is None else settings.label == "answer"
    columns = {**columns, "label": "answer" if answered else "score"}
    if answered:
        verdicts = [_verdict(run, several, run.answer, run.target) for run in chosen]
        columns["gold"] = "target"
        noticed += _contradicting(chosen)
    else:
        scores = dict.fromkeys(word for run in chosen if (word := text_of(run.outcome)))
        words = {word: _OUTCOMES.get(word.casefold()) for word in scores}
        binary = None not in words.values()
        if not binary and settings.label is None:
            shown = ", ".join(map(str, [*words][:3]))
            what = f"The scores of the models' own answers are {shown} …: they do not say which answers are right"
            raise DataError(what, file=source.path, code="scores", remedies=(Remedy("label", "score"),))
        labels = [words.get(text_of(run.outcome) or "") if binary else run.outcome for run in chosen]
        true = RIGHT if binary else None
        verdicts = [_verdict(run, several, word, true) for run, word in zip(chosen, labels, strict=True)]
        noticed.append(_about_outcomes(binary, parts if several else []))
    chosen_from = settings.model_copy(update={"question": None, "label": None})
    return read_verdicts(form, source, chosen_from, verdicts, columns, noticed)


def _verdict(run: Run, several: bool, label: object, gold: object) -> Verdict:
    item = name_of(run.part if several else "", run.item)
    return Verdict(run.row, run.model, item, label, "", gold, run.lost, run.text)


def _are_closed(runs: Sequence[Run]) -> bool:
    """Return whether the answers are words of one short list, and right exactly if they are the target."""
    known = [run for run in runs if run.answer is not None]
    aimed = [run for run in known if run.target is not None]
    if not aimed or len(aimed) < _SAME * len(known):
        return False
    words, targets = {run.answer for run in known}, {run.target for run in aimed}
    items = len({(run.part, run.item) for run in known})
    every = {str(word) for word in words | targets}
    if len(every) > min(_MOST, max(2, items // 2)) or any(len(word) > _LONG for word in every):
        return False
    usual = sum(run.answer in targets for run in known)
    return 2 * usual >= len(known) and len(_wrongly_scored(known)) <= (1 - _SAME) * len(known)


def _wrongly_scored(runs: Iterable[Run]) -> list[int]:
    """Rows whose answer is the target but scored as wrong, or the other way round."""
    known = (run for run in runs if run.answer is not None and run.target is not None)
    scored = ((run, _OUTCOMES.get(str(text_of(run.outcome)).casefold())) for run in known)
    return [run.row for run, word in scored if word and (word == RIGHT) != (run.answer == run.target)]


def _contradicting(runs: Sequence[Run]) -> list[Finding]:
    rows = _wrongly_scored(runs)
    if not rows:
        return []
    sentence = f"{plural(len(rows), 'answer')} scored otherwise than the target says"
    return [Finding("score-contradicts", "warning", sentence, len(rows), tuple(rows[:5]))]


def _about_outcomes(binary: bool, parts: Sequence[str]) -> Finding:
    what = "Each label is the score of a model's own answer"
    if binary:
        what = (
            "Each label says whether a model's own answer is right; gold is 'right' everywhere, and votes say nothing"
        )
    remedies: tuple[Remedy, ...] = (Remedy("label", "answer", when="answers can be compared"),)
    remedies += tuple(Remedy("question", part, when="one part is meant") for part in parts[:5])
    return Finding("outcomes", "warning", what, remedies=remedies)

"""Crowds whose mistakes are known: what was planted, and what results found again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import pandas as pd

from crowdcore import analysis, figures
from crowdcore.core.drawable import escaped
from crowdcore.data.dataset import CrowdDataset
from crowdcore.data.ratings import Labelled
from crowdcore.exhibits import recovery_study
from crowdcore.exhibits.exhibit import Exhibit
from crowdcore.exhibits.view import cached
from crowdcore.learning.recovery import measures
from crowdcore.learning.results.result import TrainingResult

Kind = Literal["common", "effective", "own"]
_FEW = 6  # classes of which three matrices fit beside each other


@cached
def planted_crowd(crowd: CrowdDataset) -> Exhibit:
    """The common confusion, a worker's own, and the labels that come of them; two of these where room is short."""
    found, truth = analysis.planted(crowd), crowd.truth
    shown = {}
    if truth is not None and truth.common_confusion is not None and truth.common_confusion.ndim == 2:
        shown["common"] = truth.common_confusion
    if truth is not None and truth.worker_confusion is not None and (not shown or crowd.n_classes <= _FEW):
        shown[f"own: {crowd.worker_ids[0]}"] = truth.worker_confusion[0]
    shown["all labels"] = found.confusion
    figure = figures.confusion(
        list(shown.values()),
        [escaped(c) for c in crowd.classes],
        names=[escaped(name) for name in shown],
        scale_max=1.0,
        title="What is planted",
        subtitle="row: true class · column: given label",
    )
    alt = "Planted confusion matrices, and the resulting labels by true class"
    notes = (found.sentence, *crowd.notes)
    return Exhibit("planted", f"{crowd.name}: what was planted", figure, found.frame, notes, alt)


def _settings(crowd: Labelled) -> dict[str, Any]:
    return {} if crowd.truth is None else {k: v for k, v in crowd.truth.settings.items() if k != "bias"}


def _varied(crowds: Sequence[Labelled]) -> list[str]:
    """Settings in which planted crowds differ, the seed aside."""
    known = [_settings(crowd) for crowd in crowds]
    keys = dict.fromkeys(key for one in known for key in one if key != "seed")
    return [key for key in keys if len({str(one.get(key)) for one in known}) > 1]


def crowd_names(crowds: Mapping[str, Labelled]) -> dict[str, str]:
    """What to call planted crowds that stand together: how they differ, else their names."""
    if len(crowds) == 1:
        return {name: name for name in crowds}
    varied, words = _varied(list(crowds.values())), {}
    for name, crowd in crowds.items():
        known = _settings(crowd)
        words[name] = ", ".join(f"{key.replace('_', ' ')} {known.get(key)}" for key in varied)
    if len(set(words.values())) < len(crowds):
        seeds = {name: _settings(crowd).get("seed") for name, crowd in crowds.items()}
        words = {name: f"{words[name] if varied else 'crowd'}, seed {seeds[name]}" for name in crowds}
    if len(set(words.values())) == len(crowds):
        return words
    return {name: f"{words[name]} ({name[-6:]})" for name in crowds}


def recovery_errors(
    crowds: Mapping[str, CrowdDataset], results: Mapping[tuple[str, str], TrainingResult], methods: Mapping[str, str]
) -> Exhibit:
    """Accuracy and errors of every method on planted crowds.

    Args:
        crowds: name -> crowd.
        results: name of a crowd and what the method is called -> its result there.
        methods: what each is called -> registered name.
    """
    varied = _varied(list(crowds.values()))
    known = {name: _settings(crowd) for name, crowd in crowds.items()}
    heads = {
        name: {**measures.spelled({key: one.get(key) for key in varied}), "crowd": one.get("seed", 0)}
        for name, one in known.items()
    }
    trained_on = list(dict.fromkeys(name for name, _ in results))
    rows = [_bounds(crowds[name]).assign(**heads[name]) for name in trained_on]
    rows += [_judged(r, crowds[name]).assign(method=called, **heads[name]) for (name, called), r in results.items()]
    columns = [key.replace("_", " ") for key in varied]
    first = next(iter(crowds))
    words = f"{len(trained_on)} crowds" if len(trained_on) > 1 else f"{known[first].get('simulation', '')} · {first}"
    return recovery_study.errors(measures.assembled(rows, columns), columns, methods, words)


_bounds = cached(measures.bounds)


@cached
def _judged(result: TrainingResult, crowd: CrowdDataset) -> pd.DataFrame:
    """How near a result came to what was planted, and how long it took: a row for each seed."""
    return measures.judge(result, crowd).assign(seconds=result.seconds / len(result.seeds))


def matrix_kinds(crowd: CrowdDataset) -> dict[Kind, str]:
    """Which planted matrices there are, and in words."""
    truth = crowd.truth
    if truth is None:
        return {}
    common = truth.common_confusion is not None and truth.common_confusion.ndim == 2
    own = truth.worker_confusion is not None
    words: dict[Kind, str] = {
        "common": "Common confusion",
        "effective": "Effective confusion",
        "own": "Own confusion",
    }
    known = {"common": common, "effective": own, "own": common and own}
    return {kind: title for kind, title in words.items() if known[kind]}


def planted_and_learnt(
    crowd: CrowdDataset, results: Mapping[str, TrainingResult], kind: Kind, worker: int = 0
) -> Exhibit | None:
    """The planted matrix beside what every method learnt; None where no method learns it.

    Args:
        crowd: with its truth.
        results: what each method is called -> what it came to.
        kind: one of `matrix_kinds`.
        worker: whose, unless it is the common one.
    """
    truth = crowd.truth
    if truth is None:
        return None
    true = {
        "common": truth.common_confusion,
        "own": truth.worker_confusion,
        "effective": measures.true_effective(crowd),
    }[kind]
    learnt = {}
    for called, result in results.items():
        found = getattr(cached(measures.learnt_of)(result, crowd), kind)
        if found is not None:
            learnt[called] = found if kind == "common" else found[:, worker]
    if true is None or not learnt:
        return None
    of = "" if kind == "common" else f" of {crowd.worker_ids[worker]}"
    planted = true if kind == "common" else true[worker]
    what = f"{matrix_kinds(crowd)[kind]}{of}"
    return recovery_study.matrices(what, planted, learnt, crowd.classes, "mean over seeds, selected epoch")

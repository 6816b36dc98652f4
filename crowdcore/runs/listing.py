"""Runs side by side: filters, the settings in which they differ, and tables."""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from crowdcore.learning.curve_metrics import recorded_score
from crowdcore.runs.run import Run, Title, Words, plain_title, plain_words, value_in_words

REACHED = {
    "test_accuracy_selected": "test_selected",
    "test_accuracy_selected_std": "test_selected_std",
    "test_accuracy_last": "test_last",
    "test_accuracy_last_std": "test_last_std",
    "valid_accuracy_selected": "validation",
    "test_span_f1_selected": "span_f1",
    "test_span_f1_selected_std": "span_f1_std",
    "test_span_precision_selected": "span_precision",
    "test_span_recall_selected": "span_recall",
    "valid_span_f1_selected": "valid_span_f1",
    "test_rmse_selected": "rmse",
    "test_rmse_selected_std": "rmse_std",
    "test_mae_selected": "mae",
    "test_r2_selected": "r2",
    "valid_rmse_selected": "valid_rmse",
}
"""Score of a run's result -> column of `run_table`; each exists for some kinds of labels and runs only."""


def matching(
    runs: Iterable[Run],
    *,
    datasets: Collection[str] = (),
    methods: Collection[str] = (),
    states: Collection[str] = (),
    tags: Collection[str] = (),
    words: str = "",
    trials: bool = False,
) -> list[Run]:
    """Return the runs that pass every filter, in their order; an empty filter lets all pass.

    Args:
        runs: any runs.
        datasets: accepted datasets, as the runs spell them.
        methods: accepted methods.
        states: accepted states.
        tags: required tags.
        words: each must occur in the id, name, dataset, method, settings, note, tags or message, whatever its case.
        trials: include the trials of searches.
    """
    return [
        run
        for run in runs
        if (trials or not run.spec.parent)
        and (not datasets or run.spec.dataset in datasets)
        and (not methods or run.spec.method in methods)
        and (not states or run.state in states)
        and set(tags) <= set(run.tags)
        and all(word in _text(run) for word in words.casefold().split())
    ]


def _text(run: Run) -> str:
    phrases = plain_words(run.spec.settings, run.spec.method)
    parts = (run.id, run.title, run.spec.dataset, run.spec.method, run.note, run.message, *run.tags, *phrases)
    return "\n".join(parts).casefold()


def differing(runs: Sequence[Run]) -> dict[str, dict[str, str]]:
    """Id -> settings of that run, by name, in which these runs differ.

    Settings are those that training used, defaults included; for a run that has not begun, those of its specification.
    A setting that only some methods have counts if it differs among them.
    """
    known = {run.id: run.parameters or _requested(run) for run in runs}
    requested = {name for run in runs for name in _requested(run)}
    names = dict.fromkeys(name for settings in known.values() for name in settings)
    telling = [name for name in names if _varies(name, runs, known, name in requested)]
    return {run.id: {name: known[run.id][name] for name in telling if name in known[run.id]} for run in runs}


def _requested(run: Run) -> dict[str, str]:
    return {name: str(value) for name, value in run.spec.settings.items()}


def _varies(name: str, runs: Sequence[Run], known: Mapping[str, Mapping[str, str]], requested: bool) -> bool:
    """Return True if a setting has two values, or was given in one run of a method and not in another."""
    having = [run for run in runs if name in known[run.id]]
    if len({_mark(known[run.id][name]) for run in having}) > 1:
        return True
    methods = {run.spec.method for run in having}
    return requested and any(name not in known[run.id] for run in runs if run.spec.method in methods)


def _mark(value: str) -> str:
    try:
        return repr(float(value))
    except ValueError:
        return value


def best_runs(runs: Sequence[Run]) -> set[str]:
    """Ids of the runs with the best validation score: accuracy, F1 of spans for tags, RMSE for ratings.

    Runs are compared if they have the same data, validation labels and naming, never on the test split; a run without
    a rival is not the best.
    """
    rivals: dict[tuple[str, ...], dict[str, float]] = {}
    for run in runs:
        scores = _final_scores(run)
        score = recorded_score(scores)
        if score is not None and run.spec.search is None:
            naming = run.parameters.get("names", "as-trained")
            alike = (run.spec.dataset, run.spec.fingerprint, run.validated_on, naming)
            rivals.setdefault(alike, {})[run.id] = score.better(scores[score.recorded])
    return {
        run_id
        for values in rivals.values()
        if len(values) > 1
        for run_id, value in values.items()
        if value == max(values.values())
    }


def _final_scores(run: Run) -> Mapping[str, float]:
    """Scores of a run's result; those during training do not count."""
    return run.scores if run.has_ended and run.has_result else {}


def short_names(runs: Sequence[Run], words: Words = plain_words) -> dict[str, str]:
    """Id -> name that a user gave a run, else its method and how it differs from others of its method.

    Args:
        runs: all runs to name.
        words: makes a phrase of each setting of a method.
    """
    differ: dict[str, dict[str, str]] = {}
    for method in {run.spec.method for run in runs}:
        differ |= differing([run for run in runs if run.spec.method == method])
    return {
        run.id: run.name or " · ".join([run.spec.method, *words(_values(differ[run.id]), run.spec.method)])
        for run in runs
    }


def _values(settings: Mapping[str, str]) -> dict[str, Any]:
    """Turn settings from the record, which keeps text, into values."""
    values: dict[str, Any] = dict(settings)
    for name, text in settings.items():
        with contextlib.suppress(ValueError, SyntaxError):
            values[name] = ast.literal_eval(text)
    return values


def dataset_names(runs: Iterable[Run]) -> dict[str, str]:
    """Dataset as runs spell it -> short name: the last part of a path, if that is unique."""
    spelled = dict.fromkeys(run.spec.dataset for run in runs)
    short = {name: Path(name).stem if Path(name).is_absolute() else name for name in spelled}
    clashing = [name for name in short.values() if list(short.values()).count(name) > 1]
    return {name: name if short[name] in clashing else short[name] for name in spelled}


def run_table(runs: Sequence[Run], words: Words = plain_words) -> pd.DataFrame:
    """One row per run, in their order; ``words`` as in `short_names`.

    Returns:
        id; best (see `best_runs`); name ("" without); dataset; method; settings in which the runs differ, in words;
        seeds (number); state; accuracies between 0 and 1, with standard deviations over seeds from two seeds on:
        test_selected, test_selected_std, test_last, test_last_std, validation (at the selected epoch); for tags also
        span_f1, span_f1_std, span_precision, span_recall and valid_span_f1, and for ratings instead rmse, rmse_std,
        mae, r2 and valid_rmse, on the test split except those of validation, at the selected epoch; seconds (wall time
        of training); started (UTC); validated_on; note; tags.
    """
    names, differ, leading = dataset_names(runs), differing(runs), best_runs(runs)
    scores = pd.DataFrame([_final_scores(run) for run in runs]).reindex(columns=[*REACHED, "seconds"])
    return pd.DataFrame(
        {
            "id": [run.id for run in runs],
            "best": [run.id in leading for run in runs],
            "name": [run.name for run in runs],
            "dataset": [names[run.spec.dataset] for run in runs],
            "method": [run.spec.method for run in runs],
            "settings": [" · ".join(words(_values(differ[run.id]), run.spec.method)) for run in runs],
            "seeds": [len(run.spec.seeds) for run in runs],
            "state": [run.state for run in runs],
            **scores.rename(columns=REACHED).astype(float),
            "started": pd.to_datetime(pd.Series([run.started for run in runs], dtype=object), utc=True),
            "validated_on": [run.validated_on for run in runs],
            "note": [run.note for run in runs],
            "tags": [", ".join(run.tags) for run in runs],
        }
    )


def settings_table(runs: Sequence[Run], words: Words = plain_words, title: Title = plain_title) -> pd.DataFrame:
    """One row for each setting or fact in which the runs differ, one column per run, "" where a run does not have it.

    Columns are named by `short_names`, with the beginning of the id where two names are equal.

    Args:
        runs: two or more.
        words: as in `short_names`.
        title: names a setting of a method.
    """
    names = short_names(runs, words)
    taken = list(names.values())
    columns = {run.id: f"{n} ({run.id[:8]})" if taken.count(n := names[run.id]) > 1 else n for run in runs}
    differ = differing(runs)
    facts = {
        "dataset": {run.id: dataset_names(runs)[run.spec.dataset] for run in runs},
        "data fingerprint": {run.id: run.spec.fingerprint[:8] for run in runs},
        "method": {run.id: run.spec.method for run in runs},
        "seeds": {run.id: ", ".join(map(str, run.spec.seeds)) for run in runs},
        "device": {run.id: run.device for run in runs},
        "validated on": {run.id: run.validated_on for run in runs},
    }
    rows = {name: values for name, values in facts.items() if len({*values.values()} - {""}) > 1}
    methods = {name: run.spec.method for run in reversed(runs) for name in differ[run.id]}
    for name in dict.fromkeys(name for settings in differ.values() for name in settings):
        row = title(name, methods[name])
        rows[row] = {run.id: value_in_words(_values(differ[run.id]).get(name, "")) for run in runs}
    return pd.DataFrame(
        [[row, *(values[run.id] for run in runs)] for row, values in rows.items()],
        columns=["setting", *columns.values()],
    )

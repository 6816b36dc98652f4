"""Doors × types: every public function of a dataset opens a frame, a file and a name, and refuses what is none."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import crowdcore as cc
from crowdcore import aggregation, analysis, figures
from crowdcore.aggregation.base import Aggregator

VOTES = pd.DataFrame(
    [(f"t{t}", w, "cat" if (t + k) % 3 else "dog") for t in range(12) for k, w in enumerate(("ann", "ben", "cid"))],
    columns=["task", "worker", "label"],
)
GOLD = {f"t{t}": "cat" if t % 3 else "dog" for t in range(12)}


@pytest.fixture(scope="module")
def votes() -> cc.CrowdDataset:
    return cc.from_frame(VOTES, gold=GOLD)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("doors") / "votes.csv"
    VOTES.to_csv(path, index=False)
    return path


def takes_dataset(function: Any) -> bool:
    first = next(iter(inspect.signature(function).parameters.values()), None)
    return first is not None and str(first.annotation).strip("'") in ("CrowdDataset", "RatingDataset", "Labelled")


PUBLIC = [
    name
    for name in analysis.__all__
    if inspect.isfunction(getattr(analysis, name)) and takes_dataset(getattr(analysis, name))
]


def test_what_is_no_dataset_is_refused_by_type() -> None:
    assert {"shared_mistakes", "what_if", "omega_ranking", "rating_workers", "compare_rounds", "check"} <= {*PUBLIC}
    for name in PUBLIC:
        function = getattr(analysis, name)
        first, *parameters = inspect.signature(function).parameters.values()
        others = {p.name: 0 for p in parameters if p.default is p.empty and p.kind is not p.VAR_KEYWORD}
        for wrong in (3, None, [["t1", "ann", "cat"]], np.zeros(3), object()):
            with pytest.raises(cc.SettingError) as refused:
                function(wrong, **others)
            assert (refused.value.argument, refused.value.got) == (first.name, type(wrong).__name__), name


NEEDS: dict[str, dict[str, Any]] = {
    "mistake_cell": {"reference": "gold", "true": "cat", "given": "dog"},
    "what_if": {"workers": "ann"},
    "next_labels": {"budget": 2},
    "show_gold": {"percent": 50},
    "worker_over_time": {"worker": "ann"},
    "worker_speed_over_time": {"worker": 0},
    "bootstrap_confusion": {"aggregator": "dawid-skene", "n_resamples": 2},
    "sampled_confusion": {"n_samples": 20, "burn_in": 2},
    "check": {"rules": {"min_raw_agreement_percent": 1}},
}
OF_CLASSES = [
    *("agreement", "annotation_entropy", "available_references", "class_balance", "coordinated_workers"),
    *("default_reference", "is_ordered", "mistake_list", "noise_rates", "pair_kappa", "pair_mistakes"),
    *("panel", "resolve_reference", "shared_mistakes", "summary", "task_verdicts", "without_each"),
    *("worker_confusion", "worker_distance", "worker_evidence", "worker_quality", "worker_speed"),
    *("worker_verdicts", *NEEDS),
]


@pytest.mark.parametrize("name", OF_CLASSES)
def test_a_frame_an_arrow_table_and_a_file_open_alike(name: str, file: Path) -> None:
    function, settings = getattr(analysis, name), dict(NEEDS.get(name, {}))
    if "reference" in settings:
        settings["reference"] = "majority-vote"
    results = [function(start, **settings) for start in (VOTES, pa.Table.from_pandas(VOTES), str(file), file)]
    assert len({type(one) for one in results}) == 1
    for one in results[1:]:
        if hasattr(one, "low"):
            np.testing.assert_array_equal(one.low, results[0].low)
        elif hasattr(one, "frame"):
            pd.testing.assert_frame_equal(one.frame(), results[0].frame())


def made_elsewhere(kind: str) -> Any:
    """The votes in a frame of another library."""
    if kind == "duckdb":
        return pytest.importorskip("duckdb").from_df(VOTES)
    if kind == "polars":
        return pytest.importorskip("polars").from_pandas(VOTES)
    datasets = pytest.importorskip("datasets")
    if kind == "datasets":
        return datasets.Dataset.from_pandas(VOTES)
    numbers = VOTES.assign(label=(VOTES["label"] == "cat").astype(int))
    features = {"task": "string", "worker": "string"}
    named = {k: datasets.Value(v) for k, v in features.items()} | {"label": datasets.ClassLabel(names=["dog", "cat"])}
    return datasets.Dataset.from_pandas(numbers, features=datasets.Features(named))


@pytest.mark.parametrize("kind", ["duckdb", "polars", "datasets", "datasets with class names"])
def test_a_frame_of_another_library_opens_alike(kind: str, votes: cc.CrowdDataset) -> None:
    opened = cc.from_frame(made_elsewhere(kind))
    assert {*opened.classes} == {"cat", "dog"}
    rows = [ds.annotations.astype(str).sort_values(["task", "worker"], ignore_index=True) for ds in (opened, votes)]
    pd.testing.assert_frame_equal(*rows)


def test_every_aggregator_fits_a_frame(votes: cc.CrowdDataset) -> None:
    for name in (n for n in aggregation.names() if not aggregation.aggregators[n].sequential):
        result = aggregation.get(name).fit(VOTES)
        np.testing.assert_allclose(result.posterior, aggregation.get(name).fit(votes).posterior, err_msg=name)
        with pytest.raises(cc.SettingError, match="dataset"):
            aggregation.get(name).fit(7)  # type: ignore[arg-type]


FIGURES = [
    *("shared_mistakes", "worker_distance", "agreement", "annotation_entropy", "class_balance", "labels_per_task"),
    *("labels_per_worker", "coordinated_workers", "pair_mistakes", "worker_ranking"),
]


def test_a_figure_of_one_analysis_takes_its_dataset() -> None:
    for name in FIGURES:
        assert getattr(figures, name)(VOTES).data is not None


def references(votes: cc.CrowdDataset) -> dict[str, Any]:
    fit = aggregation.get("majority-vote").fit(votes)
    series = pd.Series(GOLD)
    return {
        "series": series,
        "series in another order": series.iloc[::-1],
        "mapping": GOLD,
        "numbers by task": pd.Series(votes.gold, votes.task_ids),
        "array": votes.gold,
        "names": np.array(votes.classes)[votes.gold],
        "list": [votes.classes[c] for c in votes.gold],
        "frame": pd.DataFrame({"task": series.index, "label": series.to_numpy()}),
        "probabilities": np.eye(2)[votes.gold],
        "probabilities by name": pd.DataFrame(np.eye(2)[votes.gold][:, ::-1], votes.task_ids, [*votes.classes][::-1]),
        "fit": replace_labels(fit, votes.gold),
    }


def replace_labels(fit: aggregation.AggregationResult, labels: Any) -> aggregation.AggregationResult:
    from dataclasses import replace

    return replace(fit, labels=labels, posterior=np.eye(2)[labels])


def test_a_reference_is_the_same_however_it_is_given(votes: cc.CrowdDataset) -> None:
    for given in references(votes).values():
        np.testing.assert_array_equal(analysis.resolve_reference(votes, given).labels, votes.gold)
        assert analysis.noise_rates(votes, given).wrong_annotations == pytest.approx(
            analysis.noise_rates(votes, "gold").wrong_annotations
        )


def test_an_aggregator_by_name_class_or_instance_is_the_same_reference(votes: cc.CrowdDataset) -> None:
    references = [
        analysis.resolve_reference(votes, given) for given in ("one-coin", aggregation.OneCoin, aggregation.OneCoin())
    ]
    for one in references:
        np.testing.assert_array_equal(one.posterior, references[0].posterior)


def test_no_reference_is_gold_or_else_auto(votes: cc.CrowdDataset) -> None:
    without = votes.with_gold({})
    assert not without.has_gold
    assert analysis.shared_mistakes(votes).reference == "gold"
    assert analysis.shared_mistakes(without).reference == "auto"


@pytest.mark.parametrize(
    "wrong",
    [
        pd.Series(["cat"] * 12),  # positions, not tasks
        pd.Series({"t0": "cat", "elsewhere": "dog"}),
        pd.Series(["cat", "dog"], ["t0", "t0"]),
        pd.Series({"t0": "fox"}),
        np.zeros(5, int),
        np.full(12, 2),
        np.ones((12, 2)),
        np.zeros((12, 3)),
        pd.DataFrame({"task": ["t0"], "other": [1]}),
        "majority",
        3.5,
        object(),
    ],
    ids=lambda wrong: type(wrong).__name__,
)
def test_a_reference_that_does_not_fit_is_refused(votes: cc.CrowdDataset, wrong: Any) -> None:
    with pytest.raises(cc.SettingError) as refused:
        analysis.shared_mistakes(votes, wrong)
    assert refused.value.argument == "reference"


def test_the_nearest_name_suits_the_dataset(votes: cc.CrowdDataset) -> None:
    with pytest.raises(cc.SettingError, match="'majority-vote'"):
        analysis.shared_mistakes(votes, "majority")


def test_a_fit_of_other_tasks_is_no_reference(votes: cc.CrowdDataset) -> None:
    other = cc.from_frame(VOTES.assign(task="u" + VOTES.task))
    with pytest.raises(cc.SettingError, match="fitted"):
        analysis.shared_mistakes(votes, aggregation.get("majority-vote").fit(other))


def test_numbers_that_may_be_names_are_refused() -> None:
    """Classes 1, 2, 3 and workers 2, 10: the number 2 is another class, and another worker, than what is called 2."""
    rows = pd.DataFrame([(t, w, 1 + t % 3) for t in range(6) for w in (2, 10, 30)], columns=["task", "worker", "label"])
    votes = cc.from_frame(rows)
    with pytest.raises(cc.SettingError, match="text"):
        analysis.noise_rates(votes, {0: 1, 1: 2})
    assert analysis.resolve_reference(votes, {0: "1", 1: "2"}).labels.tolist()[:2] == [0, 1]
    with pytest.raises(cc.SettingError, match="text"):
        analysis.what_if(votes, 2)
    for worker in ("2", ["2"], np.flatnonzero(votes.worker_ids == "2")):
        assert [votes.worker_ids[w] for w in analysis.what_if(votes, worker).workers] == ["2"]


def test_labels_of_another_kind_are_refused_by_kind() -> None:
    rated = cc.data.simulate.ratings(n_tasks=200, n_workers=5)
    with pytest.raises(cc.DataError, match="classes"):
        analysis.shared_mistakes(rated)
    with pytest.raises(cc.DataError, match="numbers"):
        analysis.rating_workers("demo")


def test_settings_stay_settings() -> None:
    assert issubclass(aggregation.DawidSkene, Aggregator)
    assert aggregation.get(aggregation.DawidSkene, smoothing=0.5) == aggregation.get("dawid-skene", smoothing=0.5)
    with pytest.raises(cc.SettingError, match="Aggregator"):
        aggregation.get(int)  # type: ignore[arg-type]

"""One grammar of names in every public function, and the guesses of a newcomer."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import crowdcore as cc
from crowdcore import aggregation, analysis, figures
from crowdcore.data.doors import FORMER

PLACES = ("aggregation", "analysis", "data", "figures", "learning", "runs")
OTHER_MEANING = {
    ("analysis.critical_difference", "blocks"): "what a block is, in words",
    ("analysis.confusion_error", "truth"): "confusions, not what labels are judged by",
    ("analysis.rating_recovery", "truth"): "what was planted",
    ("figures.task_ratings", "truth"): "a number to draw",
}
NOT_FIRST = {
    "aggregation.temper": "a result becomes another one",
    "aggregation.changed_labels": "two results; the dataset is not needed",
    "learning.worker_counts": "a result",
    "runs.reference": "a run makes it",
    "runs.estimate": "a run's specification",
}


def functions() -> Iterator[tuple[str, dict[str, inspect.Parameter]]]:
    for place in PLACES:
        module = getattr(cc, place)
        for name in module.__all__:
            one: Any = getattr(module, name)
            if inspect.isfunction(one):
                yield f"{place}.{name}", dict(inspect.signature(one).parameters)


def test_the_same_thing_has_the_same_name() -> None:
    old = [(name, former) for name, parameters in functions() for former in FORMER if former in parameters]
    assert {*old} == {*OTHER_MEANING}
    drawn = ("random_state", "rng", "n_seeds", "bootstrap", "ds", "crowd")
    assert [(name, other) for name, parameters in functions() for other in drawn if other in parameters] == []


def test_the_dataset_comes_first() -> None:
    late = [name for name, parameters in functions() if "dataset" in parameters and [*parameters].index("dataset")]
    assert {*late} == {*NOT_FIRST}


def test_every_registry_lists_and_gets() -> None:
    from crowdcore.data import simulate, sources
    from crowdcore.learning import backbones, methods

    for registry in (cc.aggregation, cc.aggregation.ratings, methods, backbones, simulate, sources):
        assert all(registry.get(name) is not None for name in registry.names())


def test_a_former_name_still_works_and_says_so() -> None:
    demo = cc.load_dataset("demo")
    rated = cc.data.simulate.ratings(n_tasks=200, n_workers=5)
    for function, data, old, new in (
        (analysis.agreement, demo, {"resamples": 20}, {"n_resamples": 20}),
        (analysis.shared_bias, rated, {"bins": 4, "truth": "gold"}, {"n_bins": 4, "reference": "gold"}),
        (analysis.paired_bootstrap, np.ones(30), {"resamples": 99}, {"n_resamples": 99}),
    ):
        with pytest.warns(DeprecationWarning, match="is now") as warnings:
            result = function(data, **old)
        assert len(warnings) == len(old)
        assert {one.filename for one in warnings} == {__file__}
        assert repr(result) == repr(function(data, **new))


torch = pytest.importorskip("torch")


@pytest.fixture(scope="module")
def demo() -> cc.CrowdDataset:
    return cc.load_dataset("demo")


@pytest.fixture(scope="module")
def result(demo: cc.CrowdDataset) -> Any:
    return cc.learning.train(demo, "conal", seeds=2, epochs=1)


def test_labels_of_nobody_are_no_class(demo: cc.CrowdDataset, result: Any) -> None:
    fit = aggregation.get("majority-vote").fit(demo)
    labels = aggregation.get("majority-vote").fit_predict(demo)
    assert labels.isna().sum() == fit.frame()["label"].isna().sum() == 600
    trained = result.frame()
    assert list(trained.columns) == ["task", "split", "label", "probability"]
    assert set(trained["task"]) <= set(demo.task_ids)
    right = trained.set_index("task")["label"][trained["split"].to_numpy() == "test"]
    gold = pd.Series(np.array([*demo.classes, None], object)[demo.gold], demo.task_ids)
    assert (right == gold[right.index]).mean() == pytest.approx(float(result.accuracy(ensemble=True)[0]))


def test_what_fit_predict_gives_is_a_reference_with_the_caution_of_its_method(demo: cc.CrowdDataset) -> None:
    labels = aggregation.get("majority-vote").fit_predict(demo)
    truth = analysis.resolve_reference(demo, labels)
    assert (truth.name, truth.aggregated, truth.checked) == ("majority-vote", True, False)


def test_a_trained_result_is_taken_whole(demo: cc.CrowdDataset, result: Any) -> None:
    by_hand = analysis.omega_ranking(demo, result.omega, seeds=result.seeds, seed=result.shown_seed[0])
    for ranking in (analysis.omega_ranking(result), analysis.omega_ranking(demo, result, "gold")):
        pd.testing.assert_frame_equal(ranking.frame(), by_hand.frame())
    pd.testing.assert_frame_equal(
        analysis.omega_spread(result, "worker").frame(),
        analysis.omega_spread(demo, result.omega, "worker", seeds=result.seeds, seed=result.shown_seed[0]).frame(),
    )
    recovered = analysis.recovered(result)
    assert recovered.matrices.shape == (40, 10, 10)
    np.testing.assert_array_equal(recovered.matrices, analysis.recovered_confusion(demo, result).matrices)
    assert analysis.shared_mistakes(demo, result).reference == "run:conal"
    assert figures.omega_ranking(result).data
    assert figures.learning_curves(result).layout.yaxis.title.text == "Test accuracy"


def test_results_are_compared_as_a_list(demo: cc.CrowdDataset, result: Any) -> None:
    other = cc.learning.train(demo, "dl-mv", seeds=2, epochs=1)
    table = cc.learning.compare([result, other]).set_index("run")
    assert table.loc["dl-mv", "accuracy"] == pytest.approx(other.accuracy().mean())
    assert len(figures.learning_curves([result, other]).data) >= 2
    with pytest.raises(cc.SettingError, match="omega"):
        analysis.omega_ranking(other)


def test_a_result_read_from_a_file_finds_its_dataset_or_says_so(demo, result, tmp_path):
    read = cc.learning.load_result(result.save(tmp_path / "named"))
    assert read.crowd is None
    pd.testing.assert_frame_equal(read.frame(), result.frame())
    elsewhere = replace(read, dataset="no-such-dataset")
    with pytest.raises(cc.SettingError, match="trained"):
        analysis.omega_ranking(elsewhere)
    assert len(analysis.omega_ranking(demo, elsewhere).task)
    other = demo.where(demo.task > 100)
    for refused in (analysis.omega_ranking, analysis.shared_mistakes):
        with pytest.raises(cc.SettingError, match="trained"):
            refused(other, result)


def test_gold_may_change_after_training(demo: cc.CrowdDataset, result: Any) -> None:
    assert analysis.shared_mistakes(demo.with_gold({}), result).reference == "run:conal"


def small() -> tuple[pd.DataFrame, pd.DataFrame, dict[str, str]]:
    rng = np.random.default_rng(9)
    tasks = [f"t{k:02}" for k in range(60)]
    true = rng.integers(2, size=60)
    rows = [
        (t, f"w{w}", "ab"[c if rng.random() < 0.8 else 1 - c])
        for t, c in zip(tasks, true, strict=True)
        for w in range(4)
    ]
    frame = pd.DataFrame(rows, columns=["task", "worker", "label"]).sample(frac=1, random_state=0)
    features = pd.DataFrame(rng.normal(size=(60, 3)) + 3 * true[:, None], index=tasks)
    return frame, features.sample(frac=1, random_state=1), {t: "ab"[c] for t, c in zip(tasks, true, strict=True)}


def test_features_go_by_task_through_every_door(tmp_path: Path) -> None:
    frame, features, gold = small()
    expected = cc.from_frame(frame, gold=gold)
    rows = features.loc[expected.task_ids].to_numpy()
    frame.to_csv(tmp_path / "votes.csv", index=False)
    for made in (
        cc.from_frame(frame, gold=gold, features=features),
        cc.read_dataset(tmp_path / "votes.csv", features=features.rename_axis("task").reset_index()),
        expected.with_features(features),
        expected.with_features(rows),
        expected.with_features(torch.tensor(rows)),
    ):
        assert made.features is not None
        np.testing.assert_array_equal(made.features[:], rows)
    with pytest.raises(cc.SettingError, match="with_features"):
        cc.from_frame(frame, features=rows)
    with pytest.raises(cc.SettingError, match="60"):
        expected.with_features(rows[:5])
    with pytest.raises(cc.SettingError, match="indexed"):
        expected.with_features(features.reset_index(drop=True))
    some = expected.with_features(features.iloc[:40])
    assert some.features is not None
    assert set(expected.task_ids[some.features.present]) == set(features.index[:40])


def test_gold_and_splits_are_set_by_task() -> None:
    frame, _, gold = small()
    votes = cc.from_frame(frame).with_gold(gold).with_split({"t00": "test", "t01": "valid"})
    assert [votes.classes[c] for c in votes.gold] == [gold[t] for t in votes.task_ids]
    assert votes.split[votes.task_ids.get_indexer(pd.Index(["t00", "t01", "t02"]))].tolist() == [2, 1, -1]
    with pytest.raises(cc.SettingError, match="valid"):
        votes.with_split({"t00": "testing"})


class OwnNet(torch.nn.Module):  # type: ignore[misc, name-defined]
    """A network of one's own."""

    def __init__(self, hidden: int = 4) -> None:
        super().__init__()
        self.layers = torch.nn.Sequential(torch.nn.Linear(3, hidden), torch.nn.ReLU(), torch.nn.Linear(hidden, 2))

    def forward(self, x: Any) -> Any:
        return self.layers(x)


def test_a_network_or_method_of_ones_own_trains() -> None:
    from crowdcore.learning.methods.crowd_layer import CrowdLayer

    frame, features, gold = small()

    class Mine(CrowdLayer):
        name = "mine"

    layers = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 2))
    before = layers[0].weight.clone()
    votes = cc.from_frame(frame, gold=gold)
    for backbone in (layers, OwnNet, lambda: OwnNet(hidden=5), OwnNet()):
        result = cc.learning.train(votes, Mine, features=features, backbone=backbone, seeds=2, epochs=2)
        assert (result.method, result.probabilities["selected"].shape[0]) == ("mine", 2)
        assert not np.array_equal(result.probabilities["selected"][0], result.probabilities["selected"][1])
    assert torch.equal(layers[0].weight, before)
    for wrong in (3, ["mlp"]):
        with pytest.raises(cc.SettingError, match="Module"):
            cc.learning.train(votes, "dl-mv", features=features, backbone=wrong, seeds=1, epochs=1)
    with pytest.raises(cc.SettingError, match="train"):
        cc.learning.train(votes, ["dl-mv", "conal"], features=features)
    with pytest.raises(cc.SettingError, match="CrowdMethod"):
        cc.learning.train(votes, OwnNet, features=features)


def test_training_takes_a_frame_and_an_aggregator_as_it_is() -> None:
    frame, features, _ = small()
    result = cc.learning.train(
        frame, "dl-aggregate", features=features, aggregator=aggregation.DawidSkene(smoothing=0.5), seeds=1, epochs=1
    )
    assert result.settings["aggregator"] == "dawid-skene"
    assert len(result.frame()) == 60

"""Errors of training on ratings, and spans that taggers find, as tables."""

from __future__ import annotations

import numpy as np
import pytest

from crowdcore.data import read_ratings
from crowdcore.data.simulate import tags
from crowdcore.exhibits import comparison, differences
from crowdcore.exhibits.glossary import meaning
from crowdcore.learning import RatingsResult, tagged_spans, train, train_ratings
from crowdcore.learning.comparison.variation import facts
from tests.rated_crowd import rated_folder


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, RatingsResult]:
    crowd = read_ratings(rated_folder(tmp_path_factory.mktemp("crowds") / "rated"))
    fast = {"epochs": 3, "backbone_settings": {"hidden": 8}, "device": "cpu"}
    asked = {"layer": ("crowd-layer", (0, 1, 2)), "mean": ("dl-mean", (2, 1, 5))}
    return {name: train_ratings(crowd, method, seeds=seeds, **fast) for name, (method, seeds) in asked.items()}


def test_errors_are_those_of_the_results(results: dict[str, RatingsResult]) -> None:
    table = comparison.rating_errors(results).table.set_index(["run", "epoch"])
    for name, result in results.items():
        for at, called in (("selected", "selected"), ("last", "last"), ("best", "best, optimistic")):
            row = table.loc[(name, called)]
            assert row["R²"] == pytest.approx(result.score("r2", at=at).mean())  # type: ignore[arg-type]
            assert row["MAE ±"] == pytest.approx(result.score("mae", at=at).std(ddof=1))  # type: ignore[arg-type]
    assert all(meaning(str(column)) for column in table.reset_index())


def test_differences_are_paired_over_the_seeds_in_common(results: dict[str, RatingsResult]) -> None:
    table = differences.rating_differences(results).table
    layer, mean = (results[name].score("rmse") for name in ("layer", "mean"))
    gap = layer[[1, 2]] - mean[[1, 0]]
    assert table[["first", "second", "seeds"]].to_numpy().tolist() == [["layer", "mean", 2]]
    assert table["RMSE difference"][0] == pytest.approx(gap.mean())
    assert all(meaning(str(column)) for column in table)
    assert "second run" in differences.rating_differences({"one": results["mean"]}).notes[0]


def test_spans_are_those_that_the_library_finds() -> None:
    crowd = tags(n_sentences=40, n_valid=8, n_test=12, n_workers=4, length=6, seed=1)
    small = {"embedding": 8, "filters": 8, "hidden": 8}
    result = train(crowd, "dl-mv", seeds=2, device="cpu", epochs=1, batch_size=4, backbone_settings=small)
    shown = comparison.found_spans({"run": result})
    assert shown is not None
    expected = tagged_spans(crowd, result)
    np.testing.assert_allclose(shown.table.loc[0, "F1 %"], 100 * expected["f1"].mean())
    np.testing.assert_allclose(shown.table.loc[0, "accuracy %"], 100 * expected["token_accuracy"].mean())
    assert all(meaning(str(column)) for column in shown.table)
    known = [facts(result) | {"lr": lr} for lr in (0.1, 0.2)]
    drawn = comparison.along([result, result], known, "lr")
    assert drawn.title == "Test F1 of spans by lr"
    np.testing.assert_allclose(drawn.table["F1 of spans mean"], expected["f1"].mean())

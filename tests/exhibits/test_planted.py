"""Planted ratings and tags: recovered biases and errors are near the planted ones, where they can be."""

from __future__ import annotations

import numpy as np
import pytest

from crowdcore.core.errors import DataError
from crowdcore.data import simulate
from crowdcore.exhibits import mistakes, planted, view
from crowdcore.exhibits.glossary import meaning
from tests.rated_crowd import rated_crowd


def test_biases_of_ratings_are_recovered_and_what_all_share_with_some_gold_only() -> None:
    crowd = simulate.ratings(per_task=8)
    table = planted.rating_recovery(crowd).table.set_index("method")
    assert (table["own bias error"] < 0.2).all()
    assert (table.loc[["mean", "median", "raykar-em"], "shared bias error"] > 0.4).all()
    assert table.loc["raykar-em gold=20%", ["truth error", "bias error", "shared bias error"]].max() < 0.5
    assert table.loc["raykar-em gold=20%", "shared bias error"] < 0.2
    assert table.loc["gold", "truth error"] == 0
    assert not [c for c in (*table, *planted.planted_ratings(crowd).table) if not meaning(c)]
    rows = planted.recovered_biases(crowd, "raykar-em gold=20%").table
    np.testing.assert_allclose(rows["bias"], rows["planted bias"], atol=0.6)
    assert rows["role"].tolist()[-2:] == ["spammer", "copier of w01"]
    assert not [c for c in rows if not meaning(c)]
    assert rows["errs like"].iloc[-1] == "w01" and rows["error correlation"].iloc[-1] > 0.8
    assert rows["spread"].idxmax() == len(rows) - 2
    shared = planted.recovered_shared_bias(crowd, "gold")
    np.testing.assert_allclose(shared.table["bias"], shared.table["planted bias"], atol=0.5)
    assert [trace.name for trace in shared.figure.data][:2] == ["smoothed", "planted"]


def test_without_planted_biases_nothing_correlates_with_them() -> None:
    crowd = simulate.ratings(bias_sd=0, scale_sd=0, shared_low=0.3, shared_high=0.3, spammers=0, copiers=0)
    subtitle = planted.recovered_biases(crowd, "mean").figure.layout.title.subtitle.text
    assert "workers with" in subtitle
    assert "r =" not in subtitle


def test_what_was_planted_must_be_known() -> None:
    with pytest.raises(DataError, match="is not known"):
        planted.rating_recovery(rated_crowd()[0])


def test_aggregators_of_sequences_recover_the_kinds_of_errors() -> None:
    seen = view(simulate.spans())
    compared = ("majority-vote", "hmm-crowd", "gold")
    table = planted.tag_recovery(seen, compared).table.set_index("method")
    assert table.loc["gold"].tolist() == [1, 0, 0, 0, 0, 0]
    assert table.loc["hmm-crowd", "f1"] > table.loc["majority-vote", "f1"] + 0.05
    errors = table.columns.drop("f1")
    assert (table.loc["hmm-crowd", errors] < table.loc["majority-vote", errors] + 0.01).all()
    assert not [c for c in table if not meaning(c)]
    rates = planted.recovered_errors(seen, "hmm-crowd").table.set_index("worker")
    assert not [c for c in rates if not meaning(c)]
    assert rates.loc["w8", "role"] == "misses spans"
    np.testing.assert_allclose(rates["missed %, recovered"], rates["missed %"], atol=5)
    figure = planted.recovered_tags(seen, "gold", "w1").figure
    assert [a.text for a in figure.layout.annotations if "error" in a.text][-1] == "<b>gold<br>error 0.000</b>"


def test_the_figure_of_types_is_called_as_its_page_calls_it() -> None:
    shown = mistakes.span_types(view(simulate.spans()))
    assert shown.figure is not None
    assert shown.figure.layout.title.text == shown.title == "Types confused with others"

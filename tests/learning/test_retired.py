"""Settings of earlier releases: calls, recorded runs, results and checkpoints that name them still work."""

from __future__ import annotations

import json
import warnings
from dataclasses import replace

import numpy as np
import pytest

from crowdcore.learning import learners, load_result, train
from crowdcore.learning.api import split_settings
from crowdcore.learning.methods import get
from crowdcore.learning.results.result import TrainingResult
from crowdcore.learning.settings import RETIRED, TrainSettings, drop_retired
from tests.learning.helpers import featured_crowd


@pytest.mark.parametrize("name", RETIRED)
def test_a_call_that_names_one_is_told_and_served(name: str) -> None:
    usual, _ = RETIRED[name]
    other = {"feed": "stream", "stack": "all", "record": False}.get(name, 3)
    with pytest.warns(DeprecationWarning, match=name):
        assert split_settings(get("conal"), {name: other, "lr": 0.1})[0] == split_settings(get("conal"), {"lr": 0.1})[0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        split_settings(get("conal"), {name: usual})
        assert learners.read_method(f"conal {name}={json.dumps(usual)}") == ("conal", {})
    assert drop_retired({name: other}, known={name}) == {name: other}, "a method of one's own may have it"


def test_a_result_that_holds_them_predicts(tmp_path) -> None:
    crowd = featured_crowd()
    rows = np.asarray(crowd.features)
    result = train(crowd, "gaussian-em", seeds=1, epochs=1, rounds=3, select_on="none")
    usual = {name: default for name, (default, _) in RETIRED.items() if name != "networks"}
    before = replace(result, training={**result.training, **usual}, settings={**result.settings, "networks": 1})
    again: TrainingResult = load_result(before.save(tmp_path / "one"))
    np.testing.assert_array_equal(again.predict_proba(rows), result.predict_proba(rows))
    alone = "classifier.network."
    twice = {
        f"{alone}networks.{k}.{n.removeprefix(alone)}": v
        for n, v in result.model.items()
        if n.startswith(alone)
        for k in (0, 1)
    }
    model = {**{n: v for n, v in result.model.items() if not n.startswith(alone)}, **twice}
    two = replace(before, model=model, settings={**result.settings, "networks": 2})
    np.testing.assert_allclose(two.predict_proba(rows), result.predict_proba(rows), atol=1e-6)


def test_the_trainer_has_none() -> None:
    assert not set(RETIRED) & set(TrainSettings.model_fields)

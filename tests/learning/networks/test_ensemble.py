"""Several networks on the same targets: each learns as it would alone, and predictions are their mean."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from crowdcore.core.errors import SettingError
from crowdcore.learning import load_result, train
from crowdcore.learning.results.export import export_model
from crowdcore.learning.results.predictor import classifiers
from crowdcore.learning.results.result import TrainingResult
from tests.learning.helpers import built, featured_crowd, gradients
from tests.learning.results.test_export import script

RUN = {"epochs": 4, "batch_size": 32, "backbone_settings": {"hidden": 8}, "device": "cpu", "rounds": 3}


def trained(networks: int, **given: object) -> TrainingResult:
    settings = {**RUN, "select_on": "none", "seeds": [0, 4], **given}
    return train(featured_crowd(n_tasks=120), "gaussian-em", networks=networks, **settings)


@pytest.mark.parametrize("record", [False, True])
def test_each_network_learns_as_it_would_alone(record):
    alone, several = (trained(n, record=record, epochs=40 if record else 4) for n in (1, 3))
    own = {k: v for k, v in alone.model.items() if k.startswith("classifier.network.")}
    assert len(own) >= 4
    for name, value in own.items():
        inside = name.replace("classifier.network.", "classifier.network.networks.")
        first, second = (several.model[inside.replace("networks.", f"networks.{k}.")] for k in (0, 1))
        np.testing.assert_array_equal(first, value)
        assert name.endswith(".calls") or not np.array_equal(second, value)
    np.testing.assert_array_equal(several.q, alone.q)


def test_predictions_are_the_mean_of_the_networks_beside_the_gaussians(tmp_path):
    result = trained(3)
    rows = np.asarray(featured_crowd(n_tasks=120).features)[result.task]
    x = result.preparation(torch.from_numpy(rows))
    expected = []
    for classifier in classifiers(result):
        with torch.no_grad():
            learnt = torch.stack([network(x).softmax(1) for network in classifier.network.networks]).mean(0)
            put_back = (learnt - 0.05 / 3) / 0.95
            expected.append((put_back + classifier.of_gaussians(x)) / 2)
    np.testing.assert_allclose(result.probabilities["selected"], torch.stack(expected), atol=1e-5)
    again = load_result(result.save(tmp_path / "run"))
    np.testing.assert_allclose(again.predict_proba(rows), torch.stack(expected), atol=1e-5)
    export_model(again, tmp_path / "model")
    np.testing.assert_allclose(script(tmp_path / "model").predict_proba(rows), torch.stack(expected), atol=1e-5)


def test_the_same_seed_gives_the_same_networks_also_behind_a_checkpoint(tmp_path):
    whole, again = trained(2), trained(2)
    seen: list = []
    kept = {"checkpoint": tmp_path, "checkpoint_every": 1}
    trained(2, **kept, on_event=seen.append, should_stop=lambda: len(seen) > 2)
    resumed = trained(2, **kept)
    for other in (again, resumed):
        assert other.model.keys() == whole.model.keys()
        for name, value in whole.model.items():
            np.testing.assert_array_equal(other.model[name], value)


def test_a_result_of_before_there_were_several_is_of_one():
    result = trained(1)
    before = replace(result, settings={k: v for k, v in result.settings.items() if k != "networks"})
    rows = np.asarray(featured_crowd(n_tasks=120).features)
    np.testing.assert_array_equal(before.predict_proba(rows), result.predict_proba(rows))


def test_the_gradient_reaches_all_of_them():
    module, _, batch = built("gaussian-em", featured_crowd(), networks=2)
    found = gradients(module, batch)
    assert {name.split(".")[3] for name in found} == {"0", "1"}
    assert all((g != 0).any() for g in found.values())


def test_no_network_is_refused():
    with pytest.raises(SettingError, match="networks"):
        trained(0)

"""Numbers of classes, and of tasks in a batch, that a method is not made for are refused with the reason."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from crowdcore import aggregation
from crowdcore.core.errors import CrowdError
from crowdcore.data.dataset import CrowdDataset
from crowdcore.learning import methods, train
from testkit.crowds import simulate_crowd
from tests.learning.helpers import featured_crowd


def one_class() -> CrowdDataset:
    crowd = featured_crowd()
    return replace(crowd, classes=("only",), label=np.zeros_like(crowd.label), gold=np.zeros_like(crowd.gold))


def test_no_method_learns_one_class():
    for name in methods.names():
        with pytest.raises(CrowdError, match="'only'"):
            train(one_class(), name, seeds=1, epochs=1)


AGGREGATORS = {
    ("conal-em", 1): "one class only",
    ("glad", 1): "one class only",
    ("item-response", 1): "one class only",
    ("m-msr", 1): "one class only",
    ("kos", 1): "defined for two classes only",
    ("kos", 3): "defined for two classes only",
}


@pytest.mark.parametrize(("name", "n_classes"), [*((name, 1) for name in aggregation.names()), ("kos", 3)])
def test_aggregators_refuse_or_fit(name, n_classes):
    crowd = one_class() if n_classes == 1 else simulate_crowd(60, n_workers=6, n_classes=n_classes)
    if (name, n_classes) in AGGREGATORS:
        with pytest.raises(CrowdError, match=AGGREGATORS[name, n_classes]):
            aggregation.get(name).fit(crowd)
    else:
        posterior = aggregation.get(name).fit(crowd).posterior[crowd.annotated]
        np.testing.assert_allclose(posterior.sum(1), 1, rtol=1e-6)


@pytest.mark.parametrize(
    ("name", "settings", "reason"),
    [
        ("ccc", {"meta_size": 2}, "`meta_size` must be at least 3, a task for every class"),
        ("geocrowdnet", {"batch_size": 2}, "`batch_size` must be at least 3, a task for every class"),
        ("coinnet", {"batch_size": 2}, "`batch_size` must be at least 3, a task for every class"),
        ("max-mig", {"batch_size": 1}, "`batch_size` must be at least 2"),
        ("madl", {"right": 0.3}, "`right` must be above 1 / 3, a guess among 3 classes"),
        ("annot-mix", {"right": 0.3}, "`right` must be above 1 / 3, a guess among 3 classes"),
    ],
)
def test_settings_that_do_not_fit_the_classes_are_refused(name, settings, reason):
    with pytest.raises(CrowdError, match=reason):
        train(featured_crowd(), name, seeds=1, epochs=1, select_on="gold", **settings)


@pytest.mark.parametrize(
    ("name", "settings"),
    [("geocrowdnet", {"batch_size": 2, "volume": "w"}), ("coinnet", {"batch_size": 2, "strength": 0.0})],
)
def test_what_needs_no_volume_of_a_batch_takes_small_ones(name, settings):
    result = train(featured_crowd(), name, seeds=1, epochs=1, select_on="gold", **settings)
    assert np.isfinite(result.curves["loss"]).all()


def test_crowdlab_says_that_it_needs_tasks_with_several_labels():
    said = {n: train(featured_crowd(per_task=n), "crowdlab", seeds=1, epochs=1, select_on="gold").notes for n in (1, 2)}
    assert [any("has two labels" in note for note in said[n]) for n in (1, 2)] == [True, False]

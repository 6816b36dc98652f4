from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import crowdcore as cc
from crowdcore.core.errors import DataError
from crowdcore.runs import Run, get_run, reference, result


def test_a_run_is_a_soft_reference(make: Callable[..., Run], train: Callable[[Run], int]) -> None:
    run = make()
    train(run)
    data, found = cc.read_dataset(run.spec.dataset), result(run.id)
    truth = reference(run.id, data)
    assert truth.name == f"run:{run.id}"
    mean = found.probabilities["selected"].astype(float).mean(0)
    np.testing.assert_allclose(truth.posterior[found.task], mean / mean.sum(1, keepdims=True))
    assert (truth.labels[found.task] == mean.argmax(1)).all()
    shared = cc.analysis.shared_mistakes(data, truth)
    assert shared.reference == truth.name
    for given in (get_run(run.id), run.id, truth.name):
        np.testing.assert_array_equal(cc.analysis.resolve_reference(data, given).posterior, truth.posterior)


def test_only_the_dataset_that_it_was_trained_on(make: Callable[..., Run], train: Callable[[Run], int]) -> None:
    run = make(seeds=(0,), epochs=1)
    train(run)
    data = cc.read_dataset(run.spec.dataset)
    with pytest.raises(DataError, match="other annotations"):
        reference(run.id, data.where(np.arange(data.n_annotations) > 0))
    with pytest.raises(DataError, match="There is no run"):
        reference("0" * 32, data)

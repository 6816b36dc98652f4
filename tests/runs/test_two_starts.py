"""Runs that try several starts of the noise layers, or several methods."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import crowdcore as cc
from crowdcore.runs import Run, curves, get_run, result
from crowdcore.runs.locks import Ending

FINISHED = Ending.FINISHED.code

Make, Train = Callable[..., Run], Callable[[Run], int]


def test_of_two_starts_the_record_has_the_curves_of_the_one_that_is_kept(make: Make, train: Train) -> None:
    run = make("conal", seeds=(0, 3), epochs=3, embedding=4, start="best-of")
    assert train(run) == FINISHED
    data = cc.read_dataset(run.spec.dataset)
    expected = cc.learning.train(data, "conal", seeds=run.spec.seeds, device="cpu", **run.spec.settings)
    table = curves(run.id)
    assert len(expected.start_loss) == 2
    losses = table[table["metric"] == "loss"]
    np.testing.assert_allclose(losses["mean"], expected.curves["loss"].mean(1))
    np.testing.assert_allclose(losses["std"], expected.curves["loss"].std(1, ddof=1))


def test_of_several_candidates_the_record_has_the_curves_of_the_one_that_was_chosen(make: Make, train: Train) -> None:
    run = make("auto", seeds=(0, 3), epochs=2)
    assert train(run) == FINISHED
    found, expected = get_run(run.id), result(run.id)
    assert found.message.startswith(f"Chosen: {expected.settings['chosen']}")
    assert (found.epoch, found.done) == (2, 1.0)
    table = curves(run.id)
    losses = table[table["metric"] == "loss"]
    np.testing.assert_allclose(losses["mean"], expected.curves["loss"].mean(1))

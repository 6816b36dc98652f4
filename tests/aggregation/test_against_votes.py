"""Fits are held against the votes: the votes' side of two is kept, and a fit without a side is called collapsed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import crowdcore as cc
from crowdcore.aggregation._against_votes import agreement, collapsed, votes_side
from testkit.crowds import simulate_crowd, simulated
from testkit.erring import laymen


def fitted(dataset, name="item-response", **settings):
    return cc.aggregation.get(name, **settings).fit(dataset)


def right(result, dataset):
    return (result.labels == dataset.gold).mean()


@pytest.mark.parametrize("design", [{}, {"n_tasks": 400, "n_workers": 40, "per_task": 8}, {"experts": 0.3}])
def test_item_response_is_on_the_votes_side_where_laymen_follow_a_look(design):
    """From the votes alone, EM ends with the classes exchanged: at most 15 % right, with a confidence of .99."""
    crowds = [laymen(np.random.default_rng([seed, 400]), **design) for seed in range(3)]
    assert min(right(fitted(crowd), crowd) for crowd in crowds) > 0.85


def test_a_few_true_labels_decide_the_side_too():
    crowd = laymen(np.random.default_rng(410))
    known = np.where(np.arange(crowd.n_tasks) < 10, crowd.gold, -1)
    found = cc.aggregation.get("item-response").fit(crowd, known=known)
    assert right(found, crowd) > 0.85


def test_a_start_keeps_its_side():
    crowd = simulate_crowd(200, 12, 2, per_task=8, accuracy=0.75)
    first = fitted(crowd)
    turned = replace(first, posterior=first.posterior[:, ::-1])
    assert right(cc.aggregation.get("item-response").fit(crowd, start=first), crowd) > 0.75
    against = cc.aggregation.get("item-response").fit(crowd, start=turned)
    assert right(against, crowd) < 0.5
    assert against.collapsed


def test_agreement_counts_standard_errors_beyond_chance():
    crowd = simulate_crowd(400, 10, 3, per_task=5, accuracy=0.6)
    truth = np.eye(3)[crowd.gold]
    guess = np.eye(3)[np.random.default_rng(1).integers(3, size=400)]
    assert agreement(crowd, truth) > 10
    assert abs(agreement(crowd, guess)) < 3
    assert agreement(crowd, truth[:, [1, 2, 0]]) < -5
    assert agreement(crowd, truth, known=crowd.gold) == 0, "nothing is left to judge"


def test_collapsed_fits_are_said_so_and_sound_ones_are_not():
    crowd = simulate_crowd(400, 10, 3, per_task=5, accuracy=0.6)
    truth = np.eye(3)[crowd.gold]
    assert collapsed(crowd, truth[:, [1, 2, 0]])
    assert collapsed(crowd, np.tile([1.0, 0, 0], (400, 1)))
    assert not collapsed(crowd, truth)
    one_sided = replace(crowd, label=np.where(np.arange(crowd.n_annotations) < 8, 1, 0).astype(np.int32))
    assert not collapsed(one_sided, np.tile([1.0, 0, 0], (400, 1))), "the votes say hardly anything else"


def test_a_fit_without_a_side_carries_a_warning():
    crowd = simulated("guesses in two classes", 0)
    found = fitted(crowd, "one-coin")
    assert found.collapsed and any("collapsed" in note for note in found.notes)
    sound = fitted(simulate_crowd(300, 12, 2, per_task=5, accuracy=0.75), "one-coin")
    assert not sound.collapsed and not any("collapsed" in note for note in sound.notes)


@pytest.mark.parametrize("name", ["kos", "m-msr"])
def test_signs_follow_the_votes(name):
    """Both models know their classes up to an exchange only."""
    for seed in range(3):
        crowd = simulated("guesses in two classes", seed)
        assert agreement(crowd, fitted(crowd, name).posterior) > 0


def test_the_likelier_of_two_fits_on_the_votes_side_is_kept_and_never_one_against_them():
    crowd = simulate_crowd(200, 12, 2, per_task=8, accuracy=0.75)
    first = fitted(crowd)
    other = replace(first, log_likelihood=first.log_likelihood + 10)
    against = replace(first, posterior=first.posterior[:, ::-1], log_likelihood=first.log_likelihood + 20)
    assert votes_side(crowd, None, (first, other, against)) is other
    assert votes_side(crowd, None, (against, first)) is first

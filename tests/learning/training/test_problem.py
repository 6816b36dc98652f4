"""Which tasks train, validate and test, and what is said about it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from crowdcore.core.errors import DataError, SettingError
from crowdcore.learning.settings import TrainSettings, executing
from crowdcore.learning.training.problem import make_problem
from tests.learning.helpers import featured_crowd


def test_tasks_are_renumbered_train_valid_test_unlabelled():
    crowd = featured_crowd()
    lonely = np.flatnonzero(crowd.split == 0)[3]
    crowd = crowd.where(crowd.task != lonely)
    problem = make_problem(crowd, TrainSettings())
    assert problem.n_train == 35
    for name, code in [("train", 0), ("valid", 1), ("test", 2)]:
        tasks = problem.order[problem.splits[name]]
        expected = np.flatnonzero((crowd.split == code) & (np.arange(60) != lonely))
        assert np.array_equal(tasks, expected)
    assert problem.order[problem.splits["unlabelled"]].tolist() == [lonely]
    assert np.array_equal(problem.order[problem.task], crowd.task[problem.annotation])
    assert np.array_equal(problem.label, crowd.label[problem.annotation])
    assert np.all(np.diff(problem.task) >= 0)
    assert np.array_equal(problem.gold, crowd.gold[problem.order])
    assert problem.validated_on == "gold labels of the valid split"
    assert np.array_equal(problem.valid_label, crowd.gold[crowd.split == 1])


def test_annotations_of_other_splits_are_not_learnt_from():
    crowd = featured_crowd()
    everywhere = replace(featured_crowd(splits=(1.0, 0.0)), split=crowd.split)
    problem = make_problem(everywhere, TrainSettings())
    assert problem.n_train_annotations == 2 * problem.n_train == 72
    assert len(problem.annotation) == 120
    votes = problem.votes()
    assert votes.shape == (36, 3)
    np.testing.assert_allclose(votes.sum(1), 1)


def test_without_valid_split_a_tenth_is_held_out_by_seed():
    crowd = featured_crowd()
    crowd = replace(crowd, split=np.where(crowd.split == 1, 2, crowd.split))
    problem = make_problem(crowd, TrainSettings())
    assert problem.validated_on == "gold labels of 4 training tasks held out (seed 0)"
    assert problem.n_train == 32
    held = problem.order[problem.splits["valid"]]
    assert not np.intersect1d(held, problem.order[: problem.n_train]).size
    assert (crowd.split[held] == 0).all()
    with executing(holdout_seed=1):
        other = make_problem(crowd, TrainSettings())
    assert not np.array_equal(held, other.order[other.splits["valid"]])
    without_gold = make_problem(replace(crowd, gold=None), TrainSettings())
    assert without_gold.validated_on == "majority vote of 4 training tasks held out (seed 0)"
    assert (without_gold.valid_label >= 0).all()


def test_consensus_validates_where_there_is_no_gold():
    everywhere = replace(featured_crowd(splits=(1.0, 0.0)), split=featured_crowd().split)
    gold = np.where(everywhere.split == 1, -1, everywhere.gold)
    problem = make_problem(replace(everywhere, gold=gold), TrainSettings())
    assert problem.validated_on == "majority vote of the valid split"
    assert any("the valid split" in n for n in problem.notes)
    explicit = make_problem(everywhere, TrainSettings(select_on="consensus"))
    assert np.array_equal(explicit.valid_label, problem.valid_label)


def test_refusals_are_sentences():
    crowd = featured_crowd()
    with pytest.raises(DataError, match="has no features"):
        make_problem(replace(crowd, features=None), TrainSettings())
    with pytest.raises(DataError, match="has no annotations"):
        make_problem(crowd.where(np.zeros(crowd.n_annotations, bool)), TrainSettings())
    no_gold = replace(crowd, gold=np.where(crowd.split == 1, -1, crowd.gold))
    with pytest.raises(DataError, match="neither gold labels"):
        make_problem(no_gold, TrainSettings())
    with pytest.raises(DataError, match="no gold labels"):
        make_problem(no_gold, TrainSettings(select_on="gold"))
    with pytest.raises(DataError, match="no annotations"):
        make_problem(crowd, TrainSettings(select_on="consensus"))
    assert make_problem(no_gold, TrainSettings(select_on="none")).validated_on == ""
    few = crowd.where(crowd.task < 2)
    with pytest.raises(DataError, match="only 2 annotated"):
        make_problem(few, TrainSettings())
    with pytest.raises(SettingError, match="each of 5 workers"):
        make_problem(crowd, TrainSettings(), worker_features=np.zeros((4, 2)))
    with pytest.raises(DataError, match="NaN"):
        make_problem(crowd, TrainSettings(), worker_features=np.full((5, 2), np.nan))


def test_a_class_nobody_named_is_noted():
    crowd = featured_crowd()
    problem = make_problem(crowd.where(crowd.label != 1), TrainSettings())
    assert any("'class 1'" in note for note in problem.notes)


def test_features_are_standardised_when_their_scales_differ_wildly():
    crowd = featured_crowd()
    assert not make_problem(crowd, TrainSettings()).preparation.changes
    assert make_problem(crowd, TrainSettings(standardise=True)).preparation.changes
    wild = np.asarray(crowd.features) * np.logspace(0, 4, 6, dtype=np.float32)
    problem = make_problem(replace(crowd, features=type(crowd.features).from_array(wild)), TrainSettings())
    train = wild[problem.order[: problem.n_train]]
    np.testing.assert_allclose(problem.preparation.mean, train.mean(0), rtol=1e-5)
    np.testing.assert_allclose(problem.preparation.scale, train.std(0), rtol=1e-5)


def test_crowd_labels_can_select_where_gold_is_known():
    problem = make_problem(featured_crowd(), TrainSettings(select_on="crowd", holdout=0.2))
    assert "majority vote of" in problem.validated_on and "held out" in problem.validated_on
    assert (problem.valid_label >= 0).all()
    gold = problem.gold[problem.splits["valid"]]
    assert (problem.valid_label != gold).any(), "workers' labels, not gold"

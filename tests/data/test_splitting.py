"""Splits drawn at random: shares hold in every class, groups stay together, and the seed says which."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from crowdcore.core.errors import DataError, SettingError
from crowdcore.data import examine, read_dataset, split_tasks
from testkit.crowds import simulate_crowd


@pytest.fixture
def crowd():
    found = simulate_crowd(300)
    return replace(found, split=None)


def test_shares_hold_in_every_class_to_one_task(crowd):
    found = split_tasks(crowd, valid=0.1, test=0.25, seed=3)
    assert (found.split == 2).sum() == 75 and abs((found.split == 1).sum() - 30) <= 1
    for c in range(crowd.n_classes):
        of = crowd.gold == c
        assert abs((found.split[of] == 2).sum() - 0.25 * of.sum()) < 1
        assert abs((found.split[of] == 1).sum() - 0.1 * of.sum()) < 2
    np.testing.assert_array_equal(found.split, split_tasks(crowd, valid=0.1, test=0.25, seed=3).split)
    assert (found.split != split_tasks(crowd, valid=0.1, test=0.25, seed=4).split).any()


def test_without_gold_the_votes_stratify(crowd):
    found = split_tasks(replace(crowd, gold=None), test=0.2)
    votes = pd.crosstab(crowd.task, crowd.label).to_numpy().argmax(1)
    for c in range(crowd.n_classes):
        assert abs((found.split[votes == c] == 2).sum() - 0.2 * (votes == c).sum()) < 1


def test_groups_stay_together(crowd):
    patient = crowd.task // 7
    found = split_tasks(replace(crowd, extra=pd.DataFrame({"patient": patient})), valid=0.2, test=0.2, group="patient")
    assert pd.Series(found.split).groupby(np.arange(300) // 7).nunique().max() == 1
    assert all(35 < (found.split == k).sum() < 85 for k in (1, 2))
    torn = replace(crowd, extra=pd.DataFrame({"patient": np.arange(crowd.n_annotations)}))
    with pytest.raises(DataError, match="two groups"):
        split_tasks(torn, test=0.2, group="patient")


def test_what_cannot_be_is_refused(crowd):
    with pytest.raises(SettingError, match="further column"):
        split_tasks(crowd, test=0.2, group="patient")
    with pytest.raises(SettingError, match="leave tasks to train on"):
        split_tasks(crowd, valid=0.5, test=0.5)
    with pytest.raises(DataError, match="already"):
        split_tasks(split_tasks(crowd, test=0.2), test=0.2)
    with pytest.raises(DataError, match="too few tasks"):
        split_tasks(simulate_crowd(3), valid=0.01, test=0.01)


def test_a_file_is_divided_when_it_is_read(crowd, tmp_path):
    file = tmp_path / "votes.csv"
    crowd.annotations.to_csv(file, index=False)
    found = examine(file, valid_share=0.1, test_share=0.2)
    assert "210 tasks train, 30 validate, 60 test" in found.report.text()
    assert np.bincount(read_dataset(file, valid_share=0.1, test_share=0.2).split).tolist() == [210, 30, 60]

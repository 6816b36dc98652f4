"""`task_disagreement` against a loop over tasks."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from math import log

import numpy as np
import pytest

from crowdcore.analysis.labels.disagreement import task_disagreement
from crowdcore.core.errors import DataError
from testkit.crowds import simulate_crowd


def test_equals_a_loop_over_tasks(crowd):
    gold = crowd.gold.copy()
    gold[::7] = -1
    crowd = replace(crowd, gold=gold).where(crowd.task % 5 != 3)
    found = task_disagreement(crowd)
    for i in range(crowd.n_tasks):
        votes = Counter(crowd.label[crowd.task == i].tolist())
        n = sum(votes.values())
        assert found.n_annotations[i] == n
        assert found.n_answers[i] == len(votes)
        if not n:
            assert found.winner[i] == -1
            assert np.isnan([found.share[i], found.entropy[i], found.wrong[i]]).all()
            continue
        top = max(votes.values())
        assert found.winner[i] == min(c for c, k in votes.items() if k == top)
        assert found.share[i] == pytest.approx(top / n)
        assert found.entropy[i] == pytest.approx(-sum(k / n * log(k / n) for k in votes.values()))
        if gold[i] < 0:
            assert np.isnan(found.wrong[i])
        else:
            assert found.wrong[i] == pytest.approx(1 - votes[gold[i]] / n)


def test_frame_lists_annotated_tasks_most_disputed_first(crowd):
    found = task_disagreement(crowd.where(crowd.task > 4), "majority-vote")
    frame = found.frame()
    assert len(frame) == crowd.n_tasks - 5
    assert list(found.frame(annotated=False).index) == [0, 1, 2, 3, 4]
    assert (np.diff(frame["entropy"]) <= 1e-12).all()
    assert list(frame["task"]) == [crowd.task_ids[i] for i in frame.index]
    assert (frame["most_given"] == frame["majority-vote"]).all()
    assert set(frame["most_given"]) <= set(crowd.classes)


def test_needs_gold_when_gold_is_asked_for():
    crowd = simulate_crowd(20)
    with pytest.raises(DataError, match="no gold labels"):
        task_disagreement(replace(crowd, gold=np.full(20, -1)))

"""Ranking of the workers, pairs wrong alike."""

from __future__ import annotations

import numpy as np
import pytest

import crowdcore as cc
from crowdcore import analysis, figures
from crowdcore.figures import theme
from tests.analysis.crowds import make_crowd
from tests.analysis.workers.test_quality import planted


def test_dots_are_ranked_and_coloured_by_what_is_wrong():
    quality = analysis.worker_quality(planted())
    fig = figures.worker_ranking(quality, highlight=5, guessing=np.arange(23) >= 20)
    by_name = {trace.name: trace for trace in fig.data}
    assert list(by_name) == [
        "ordinary (20)",
        "one answer for nearly everything (1)",
        "no better than guessing (2)",
        "w5",
    ]
    x = np.concatenate([t.x for t in fig.data[:3]])
    y = np.concatenate([t.y for t in fig.data[:3]])
    assert sorted(x) == list(range(23))
    assert (np.diff(y[np.argsort(x)]) <= 0).all()
    assert by_name["one answer for nearly everything (1)"].customdata[0][0] == "w20"
    assert by_name["ordinary (20)"].error_y.array is not None
    ranked = np.argsort(-quality.accuracy, kind="stable")
    assert list(fig.layout.xaxis.ticktext) == [f"w{r}" for r in ranked]
    assert fig.data[3].y[0] == quality.accuracy[5]


def test_other_measures_and_names():
    quality = analysis.worker_quality(planted())
    fig = figures.worker_ranking(quality, "information", names=[f"someone {r}" for r in range(23)])
    assert fig.data[0].error_y.array is None
    assert fig.data[0].customdata[0][0].startswith("someone")
    assert fig.layout.shapes[0].y0 == pytest.approx(np.nanmax(quality.information_limit))
    with pytest.raises(cc.SettingError, match="`by`"):
        figures.worker_ranking(quality, "beauty")


def crowd_with_copier(source: int):
    """Worker 23 copies all labels of the source, who errs a lot."""
    crowd = planted()
    rng = np.random.default_rng(9)
    mine = crowd.worker == source
    label = np.where(
        mine & (rng.random(crowd.n_annotations) < 0.4), rng.integers(5, size=crowd.n_annotations), crowd.label
    )
    return make_crowd(
        np.concatenate([crowd.task, crowd.task[mine]]),
        np.concatenate([crowd.worker, np.full(mine.sum(), 23)]),
        np.concatenate([label, label[mine]]),
        300,
        24,
        5,
        crowd.gold,
    )


def test_conspicuous_pairs_stand_out():
    crowd = crowd_with_copier(0)
    pairs = analysis.pair_mistakes(crowd)
    fig = figures.pair_mistakes(pairs, groups=analysis.worker_verdicts(crowd).groups)
    chance, more, beyond = fig.data
    assert beyond.marker.color == theme.WARN
    assert beyond.name.startswith("act together (1)")
    assert beyond.customdata[0].startswith("<b>w0</b> and <b>w23</b>")
    k = int(np.nanargmin(pairs.p_beyond))
    assert (beyond.x[0], beyond.y[0]) == (pairs.expected[k], pairs.wrong_alike[k])
    drawn = len(chance.x) + len(more.x) + len(beyond.x)
    assert drawn == (pairs.wrong_alike > 0).sum()
    assert fig.layout.xaxis.range[0] < np.log10(pairs.expected[pairs.wrong_alike > 0].min())


def test_only_the_least_probable_of_many_pairs_are_drawn():
    crowd = crowd_with_copier(0)
    pairs = analysis.pair_mistakes(crowd)
    fig = figures.pair_mistakes(pairs, groups=analysis.worker_verdicts(crowd).groups, most=10)
    assert sum(len(trace.x) for trace in fig.data) == 10
    assert "10 least probable" in fig.layout.title.subtitle.text
    assert len(fig.data[2].x) == 1


def test_a_small_q_marks_nobody_who_is_in_no_group():
    pairs = analysis.pair_mistakes(crowd_with_copier(0))
    chance, more, together = figures.pair_mistakes(pairs).data
    assert (pairs.q_beyond <= 0.05).any()
    assert len(together.x) == 0
    assert len(chance.x) + len(more.x) == (pairs.wrong_alike > 0).sum()


def test_no_pairs_at_all():
    crowd = make_crowd([0, 1], [0, 1], [0, 1], 2, 2, 2, np.array([0, 1]))
    fig = figures.pair_mistakes(analysis.pair_mistakes(crowd))
    assert all(len(trace.x) == 0 for trace in fig.data)

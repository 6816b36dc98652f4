"""Figures of the summary show the numbers of their results."""

from __future__ import annotations

import numpy as np
import pytest

from crowdcore import figures
from crowdcore.analysis import agreement, summary
from testkit.crowds import simulate_crowd
from tests.analysis.crowds import make_crowd


@pytest.fixture(scope="module")
def found():
    return summary(simulate_crowd())


def test_bars_add_up_to_the_active_workers(found):
    assert sum(figures.labels_per_worker(found).data[0].y) == found.n_active


def test_a_few_busy_workers_get_a_logarithmic_axis():
    worker = np.append(np.repeat(np.arange(50), 2), np.full(3000, 50))
    crowd = make_crowd(np.arange(3100), worker, np.zeros(3100), 3100, 52, 2, np.zeros(3100, int))
    fig = figures.labels_per_worker(summary(crowd))
    assert fig.layout.xaxis.type == "log"
    assert sum(fig.data[0].y) == 51
    assert "1 without any" in fig.layout.title.subtitle.text


def test_the_histogram_has_an_exact_bin_for_each_small_number():
    crowd = make_crowd(np.arange(6), [0, 0, 0, 1, 1, 2], np.zeros(6), 6, 3, 2, np.zeros(6, int))
    (bars,) = figures.labels_per_worker(summary(crowd)).data
    assert dict(zip(bars.x.tolist(), bars.y.tolist(), strict=True)) == {1: 1, 2: 1, 3: 1}
    assert list(bars.customdata) == ["1", "2", "3"]


def test_tasks_by_number_of_annotations(found):
    (bars,) = figures.labels_per_task(found).data
    assert (list(bars.x), list(bars.y)) == ([3], [300])


def test_tasks_with_many_annotations_alike_have_ticks_at_whole_numbers():
    found = summary(simulate_crowd(10, n_workers=30, per_task=30))
    assert figures.labels_per_task(found).layout.xaxis.dtick == 1


def test_balance_shows_true_and_given_shares(found):
    true, given = figures.class_balance(found.balance).data
    np.testing.assert_allclose(true.y, 100 * found.balance.true_share)
    np.testing.assert_allclose(given.y, 100 * found.balance.given_share)
    assert true.name == "true class (gold)"


def test_entropies_start_with_the_most_confused_class(found):
    (bars,) = figures.annotation_entropy(found.entropy).data
    assert list(bars.x) == sorted(found.entropy.entropy, reverse=True)
    assert bars.customdata[0][0] == found.classes[int(found.entropy.entropy.argmax())]


def test_of_many_classes_each_bar_still_has_its_name():
    n = 60
    crowd = make_crowd(np.arange(n), np.zeros(n, int), np.arange(n), n, 1, n, np.arange(n))
    found = summary(crowd)
    assert figures.annotation_entropy(found.entropy).layout.yaxis.showticklabels
    assert figures.class_balance(found.balance).layout.xaxis.title.text.startswith("60 classes")


def test_agreement_shows_intervals_or_says_why_not(crowd):
    result = agreement(crowd, n_resamples=50)
    points = figures.agreement(result).data[0]
    np.testing.assert_allclose(points.x, [c.value for c in result.coefficients])
    np.testing.assert_allclose(points.error_x.array, [c.high - c.value for c in result.coefficients])
    alone = agreement(make_crowd([0, 1], [0, 1], [0, 1], 2, 2, 2))
    fig = figures.agreement(alone)
    assert len(fig.data[0].x) == 0
    assert {a.text for a in fig.layout.annotations} == {"not enough overlap"}


def test_no_annotations_are_said(found):
    from dataclasses import replace

    fig = figures.labels_per_worker(replace(found, annotations_per_worker=np.zeros(3, int)))
    assert fig.layout.title.subtitle.text == "no annotations"


def test_few_workers_and_tasks_are_counted_in_whole_numbers(found):
    few = summary(make_crowd(np.arange(6), [0, 0, 0, 1, 1, 2], np.zeros(6), 6, 3, 2, np.zeros(6, int)))
    drawn = figures.labels_per_worker(few).layout
    assert (drawn.xaxis.dtick, drawn.yaxis.dtick) == (1, 1)
    assert figures.labels_per_task(found).layout.yaxis.dtick is None

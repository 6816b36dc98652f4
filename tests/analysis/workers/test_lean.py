"""Strict and lenient workers: planted shifts are found with their size, honest ones are left alone, labels mended."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from crowdcore import analysis
from crowdcore.core.errors import DataError
from crowdcore.data.dataset import CrowdDataset
from crowdcore.exhibits import verdicts, view, workers


def graders(
    seed: int, sd: float, n_tasks: int = 300, n_workers: int = 20, each: int = 6
) -> tuple[CrowdDataset, np.ndarray]:
    """Five ordered classes by thresholds, workers shifted by a normal lean and noisy; and the leans in classes."""
    rng, (n_tasks, n_workers, each) = np.random.default_rng(seed), (300, 20, 6)
    z, lean = rng.normal(0, 1.3, n_tasks), rng.normal(0, sd, n_workers)
    worker = np.argsort(rng.random((n_tasks, n_workers)), 1)[:, :each].ravel()
    task = np.repeat(np.arange(n_tasks), each)
    ends = np.array([-1.5, -0.5, 0.5, 1.5])
    label = np.searchsorted(ends, z[task] + lean[worker] + 0.6 * rng.normal(size=len(task)))
    ids = [pd.RangeIndex(n).astype(str) for n in (n_tasks, n_workers)]
    gold = np.searchsorted(ends, z).astype(np.int32)
    return CrowdDataset("grades", tuple("12345"), *ids, task, worker, label.astype(np.int32), gold=gold), lean


def test_the_planted_leans_are_found_with_their_size() -> None:
    for seed in range(5):
        crowd, lean = graders(seed, 0.6)
        found = analysis.worker_lean(crowd)
        assert np.corrcoef(found.shift, lean)[0, 1] > 0.95
        strict = found.leans & (np.abs(lean - lean.mean()) > 0.3)
        assert (np.sign(found.shift[strict]) == np.sign(lean - lean.mean())[strict]).all()
        assert found.leans[np.abs(lean - lean.mean()) > 0.7].all()


def test_nobody_without_a_lean_is_called_strict_and_intervals_hold_it() -> None:
    found = [analysis.worker_lean(graders(seed, 0.0)[0]) for seed in range(40)]
    assert sum(one.leans.any() for one in found) <= 3
    assert 0.93 < np.mean([((one.low <= 0) & (one.high >= 0)).mean() for one in found]) < 0.97


def test_corrected_labels_are_nearer_to_gold() -> None:
    crowd, _ = graders(3, 0.9)
    mended = analysis.without_lean(crowd)
    before, after = (np.abs(of.label - of.gold[of.task]).mean() for of in (crowd, mended))
    assert after < 0.9 * before
    listed = workers.corrected_labels(view(crowd)).table
    assert len(listed) == (mended.label != crowd.label).sum() > 50
    assert "task" not in workers.corrected_labels(view(replace(crowd, classes=tuple("abcde")))).table
    still = ~analysis.worker_lean(crowd).leans[crowd.worker]
    np.testing.assert_array_equal(mended.label[still], crowd.label[still])


def test_the_order_is_that_of_the_numbers() -> None:
    crowd, _ = graders(1, 0.6)
    turned = replace(crowd, classes=tuple("54321"), label=4 - crowd.label, gold=4 - crowd.gold)
    np.testing.assert_allclose(analysis.worker_lean(turned).shift, analysis.worker_lean(crowd).shift)
    with pytest.raises(DataError):
        analysis.worker_lean(replace(crowd, classes=tuple("abcde")))


def test_the_sentence_of_a_worker_says_it_and_accuses_nobody_for_it() -> None:
    crowd, lean = graders(2, 0.6)
    table = verdicts.worker_verdicts(view(crowd, "gold")).table
    strict = int(np.argmin(lean))
    assert f"Strict by {-analysis.worker_lean(crowd).shift[strict]:.1f} grades" in table["reason"][strict]
    assert "remove" not in set(table["verdict"])
    assert not table["reason"].sort_index().str.contains("Strict|Lenient")[np.abs(lean) < 0.05].any()

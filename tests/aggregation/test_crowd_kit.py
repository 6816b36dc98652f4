"""crowd-kit's aggregators by name."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec

import numpy as np
import pytest

import crowdcore as cc
from crowdcore.aggregation import _crowd_kit
from crowdcore.core.errors import DataError, MissingExtraError, SettingError
from testkit.crowds import simulate_crowd

pytestmark = pytest.mark.skipif(find_spec("crowdkit") is None, reason="crowd-kit is not installed")


@pytest.fixture
def binary():
    return simulate_crowd(60, 8, 2, per_task=4, accuracy=0.85)


def test_every_one_runs_and_is_right_mostly(binary):
    known = np.where(np.arange(60) < 10, binary.gold, -1)
    for name in cc.aggregation.crowd_kit_names():
        settings = {"n_iter": 1} if name.endswith(("GLAD", "MACE")) else {}
        result = cc.aggregation.get(name, **settings).fit(binary, known=known)
        assert result.method == name
        assert result.settings == settings
        np.testing.assert_allclose(result.posterior.sum(1), 1)
        np.testing.assert_array_equal(result.labels[:10], binary.gold[:10])
        assert (result.labels == binary.gold).mean() > 0.9
        assert not name.endswith("GLAD") or np.isfinite(result.worker_weight).all()
        assert bool(result.notes) != name.endswith("GoldMajorityVote"), "says that known labels are not learnt from"


@pytest.mark.filterwarnings("ignore")
def test_answers_are_crowd_kits_own(binary):
    import crowdkit.aggregation as kit

    theirs = kit.DawidSkene(n_iter=5).fit(binary.annotations.astype(str))
    ours = cc.aggregation.get("crowd-kit:DawidSkene", n_iter=5).fit(binary)
    expected = theirs.probas_.reindex(index=binary.task_ids, columns=list(binary.classes))
    np.testing.assert_allclose(ours.posterior, expected, atol=1e-9)


def test_missing_workers_tasks_and_classes_keep_their_places():
    crowd = simulate_crowd(30, 6, 3, per_task=3)
    crowd = crowd.where((crowd.task != 4) & (crowd.worker != 2) & (crowd.label != 1))
    result = cc.aggregation.get("crowd-kit:MajorityVote").fit(crowd)
    assert result.labels[~crowd.annotated].tolist() == [-1] * int((~crowd.annotated).sum())
    assert np.isnan(result.worker_weight[2])
    assert (result.posterior[crowd.annotated][:, 1] == 0).all()


def test_refusals():
    with pytest.raises(DataError, match="binary"):
        cc.aggregation.get("crowd-kit:KOS").fit(simulate_crowd(20, 5, 3))
    with pytest.raises(DataError, match="Pass `known`"):
        cc.aggregation.get("crowd-kit:GoldMajorityVote").fit(simulate_crowd(20, 5, 3))
    with pytest.raises(SettingError, match="suit"):
        cc.aggregation.get("crowd-kit:GLAD", no_such=1)
    with pytest.raises(SettingError, match="'crowd-kit:DawidSkene'"):
        cc.aggregation.get("crowd-kit:DawidSken")


def test_names_cost_no_import_of_crowd_kit():
    code = (
        "import sys, crowdcore as cc; names = cc.aggregation.crowd_kit_names(); "
        "cc.aggregation.get(names[0]); print(len(names), 'crowdkit' in sys.modules, 'torch' in sys.modules)"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert int(out[0]) >= 10 and out[1:] == ["False", "False"]
    assert not any(name.startswith("crowd-kit") for name in cc.aggregation.names())


def test_without_crowd_kit_the_refusal_names_the_extra(monkeypatch):
    monkeypatch.setattr(_crowd_kit, "find_spec", lambda name: None)
    _crowd_kit._class_names.cache_clear()
    _crowd_kit.member.cache_clear()
    try:
        assert _crowd_kit.crowd_kit_names() == []
        with pytest.raises(MissingExtraError, match=r"crowdcore\[crowd-kit\]"):
            cc.aggregation.get("crowd-kit:GLAD")
    finally:
        _crowd_kit._class_names.cache_clear()

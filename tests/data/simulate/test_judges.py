"""The panel of judges who err together: what it says of itself is true, and the embedded one is made again."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import crowdcore as cc
from crowdcore.data import simulate
from testkit import judges_demo
from tests.data.simulate.test_demo import content

EMBEDDED = Path(__file__).resolve().parents[3] / "data" / "judges"


def made(seed: int, n_classes: int = 2, **settings: float) -> cc.CrowdDataset:
    gold = np.random.default_rng(seed).integers(0, n_classes, 1200)
    return simulate.judges((None, gold), seed=seed, **settings)


def wrong(panel: cc.CrowdDataset) -> np.ndarray:
    """(n, m) errors of a panel without missing verdicts."""
    return (panel.label != panel.gold[panel.task]).reshape(panel.n_tasks, panel.n_workers)


def test_items_mislead_whom_they_are_said_to() -> None:
    panel = made(31)
    errors, (everyone, *families) = wrong(panel), panel.truth.settings["misled"]
    assert abs(errors[everyone].mean() - 0.85) < 0.04
    for family, items in enumerate(families):
        kin = panel.truth.group == family
        only = np.setdiff1d(items, everyone)
        assert abs(errors[np.ix_(only, kin)].mean() - 0.85) < 0.06
    free = np.setdiff1d(np.arange(1200), np.concatenate([everyone, *families]))
    assert errors[free].mean() < 0.2


def test_misled_judges_say_the_same_of_several_classes() -> None:
    panel = made(32, 4, shared=0.3, family=0)
    labels, errors = panel.label.reshape(1200, -1), wrong(panel)
    rows = panel.truth.settings["misled"][0]
    for item in rows[:50]:
        given = labels[item][errors[item]]
        assert len({*given}) <= 1


def test_without_blind_spots_and_opinion_errors_are_independent() -> None:
    panel = made(33, shared=0, family=0, opinion=0)
    off = np.corrcoef(wrong(panel).T)[~np.eye(9, dtype=bool)]
    assert abs(off.mean()) < 0.02 and abs(off).max() < 0.12


def test_one_opinion_alone_pairs_nobody_of_a_family() -> None:
    panel = made(34, shared=0, family=0, opinion=1.5)
    errors, kin = np.corrcoef(wrong(panel).T), panel.truth.group[:, None] == panel.truth.group
    off = ~np.eye(9, dtype=bool)
    assert errors[off & kin].mean() == pytest.approx(errors[off & ~kin].mean(), abs=0.04)
    assert errors[off].mean() > 0.08


def test_missing_verdicts_are_missing() -> None:
    assert made(35, missing=0.25).n_annotations == pytest.approx(0.75 * 1200 * 9, rel=0.03)


def test_the_embedded_panel_is_made_again_byte_for_byte(tmp_path: Path) -> None:
    judges_demo.write(tmp_path / "judges")
    names = sorted(path.name for path in EMBEDDED.iterdir())
    assert sorted(path.name for path in (tmp_path / "judges").iterdir()) == names
    for name in names:
        assert content(tmp_path / "judges" / name) == content(EMBEDDED / name), name
    assert sum(path.stat().st_size for path in EMBEDDED.iterdir()) < 100_000


def test_its_families_are_found() -> None:
    panel = cc.load_dataset("judges")
    found = {frozenset(panel.worker_ids[[*kin.members]]) for kin in cc.analysis.panel(panel).kin}
    families = [frozenset(n for n in panel.worker_ids if n.startswith(family)) for family in judges_demo.FAMILIES]
    assert found == {*families}

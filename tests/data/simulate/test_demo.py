"""The embedded demo dataset: made again byte for byte, and every page has something to show on it."""

from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np
import pytest

import crowdcore as cc
from crowdcore.data.dataset import CrowdDataset

EMBEDDED = Path(__file__).resolve().parents[3] / "data" / "demo"


@pytest.fixture(scope="module")
def demo() -> CrowdDataset:
    return cc.read_dataset(EMBEDDED)


def content(path: Path) -> dict[str, bytes]:
    """A file's bytes; those of the members where it is a zip, since zlib's versions compress differently."""
    if path.suffix != ".npz":
        return {"": path.read_bytes()}
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_the_script_makes_it_again_byte_for_byte(tmp_path: Path) -> None:
    pytest.importorskip("sklearn")
    from testkit import demo

    demo.write(tmp_path / "demo")
    names = sorted(p.name for p in EMBEDDED.iterdir())
    assert sorted(p.name for p in (tmp_path / "demo").iterdir()) == names
    for name in names:
        assert content(tmp_path / "demo" / name) == content(EMBEDDED / name), name
    demo.write(tmp_path / "demo2")
    for name in names:
        assert (tmp_path / "demo2" / name).read_bytes() == (tmp_path / "demo" / name).read_bytes(), name


def test_a_few_hundred_kilobytes_with_everything_the_format_has(demo: CrowdDataset) -> None:
    assert sum(p.stat().st_size for p in EMBEDDED.iterdir()) < 800_000
    assert (demo.n_tasks, demo.n_workers, demo.n_classes) == (1797, 40, 10)
    assert demo.classes[3] == "three"
    np.testing.assert_array_equal(np.bincount(demo.split), [1197, 200, 400])
    assert (demo.split[demo.task] == 0).all() and demo.annotated[demo.split == 0].all()
    assert ((demo.gold < 0) & (demo.split == 0)).sum() == (demo.gold < 0).sum() == 40
    assert demo.features.shape == (1797, 64) and demo.features.dtype == np.float32
    assert demo.media.images.shape == (1797, 8, 8) and demo.media.images.dtype == np.uint8
    np.testing.assert_allclose(demo.media.images[:].reshape(1797, -1) / 255, np.asarray(demo.features), atol=1 / 255)
    assert cc.data.examine(EMBEDDED).report.changes == ()


def test_the_images_are_those_of_the_digits(demo: CrowdDataset) -> None:
    digits = pytest.importorskip("sklearn.datasets").load_digits()
    order = [int(task.removeprefix("digit-")) - 1 for task in demo.task_ids]
    np.testing.assert_array_equal(np.asarray(demo.features), (digits.data / 16).astype(np.float32)[order])
    known = demo.gold >= 0
    np.testing.assert_array_equal(demo.gold[known], digits.target[order][known])


def test_its_truth_is_kept_and_fits(demo: CrowdDataset) -> None:
    truth = demo.truth
    assert truth.settings["simulation"] == "conal" and truth.settings["seed"] == 2021
    assert truth.settings["proportion"] == 0.4
    np.testing.assert_allclose(truth.worker_confusion.sum(-1), 1, atol=1e-5)
    common = truth.common_confusion
    for true, given in (("one", "seven"), ("three", "eight"), ("four", "nine")):
        assert common[demo.classes.index(true), demo.classes.index(given)] == pytest.approx(0.7)
    np.testing.assert_allclose(np.delete(np.diag(common), [1, 3, 4]), 1)
    # What the truth says of each label is what one finds: no label of probability 0, and the stated share of rights.
    known = demo.gold[demo.task] >= 0
    true, worker, label = demo.gold[demo.task][known], demo.worker[known], demo.label[known]
    used = truth.used_common[known]
    p = np.where(used, common[true, label], truth.worker_confusion[worker, true, label])
    assert (p > 0).all()
    right = np.where(used, common[true, true], truth.worker_confusion[worker, true, true])
    assert abs((label == true).sum() - right.sum()) < 4 * np.sqrt((right * (1 - right)).sum())


def role(demo: CrowdDataset, word: str) -> list[int]:
    return [r for r, said in enumerate(demo.truth.worker_role) if said.startswith(word)]


def test_odd_workers_are_as_odd_as_said(demo: CrowdDataset) -> None:
    (at_random,), (single,), (copier,) = (role(demo, w) for w in ("random", "single", "copier"))
    few = role(demo, "few labels")
    assert sorted(demo.labels_per_worker[few]) == [3, 5, 8, 12, 16]
    assert np.delete(demo.labels_per_worker, few).min() > 20
    assert set(demo.label[demo.worker == single]) == {1}
    spread = np.bincount(demo.label[demo.worker == at_random], minlength=10) / (demo.worker == at_random).sum()
    assert spread.max() < 0.2
    leader = demo.worker_ids.get_loc(demo.truth.worker_role[copier].removeprefix("copier of "))
    said = {
        int(t): int(y) for t, y in zip(demo.task[demo.worker == leader], demo.label[demo.worker == leader], strict=True)
    }
    copied = [(t, y) for t, y in zip(demo.task, demo.label, strict=True) if t in said]
    of_copier = demo.worker == copier
    shared = of_copier & np.isin(demo.task, list(said))
    assert len(copied) and shared.sum() == 140
    assert all(said[int(t)] == y for t, y in zip(demo.task[shared], demo.label[shared], strict=True))
    readme = (EMBEDDED / "README.md").read_text()
    for r in (at_random, single, copier, leader, *few):
        assert demo.worker_ids[r] in readme


def test_shared_mistakes_tell_the_story(demo: CrowdDataset) -> None:
    result = cc.analysis.shared_mistakes(demo, reference="gold")
    wrong = result.percent.copy()
    np.fill_diagonal(wrong, 0)
    top = {(int(a), int(b)) for a, b in np.argwhere(wrong >= np.sort(wrong.ravel())[-3])}
    assert top == {(1, 7), (3, 8), (4, 9)}
    assert min(wrong[a, b] for a, b in top) > 2.5 * max(wrong[a, b] for a, b in np.ndindex(10, 10) if (a, b) not in top)


def test_the_consensus_is_good_but_falls_for_the_shared_mistakes(demo: CrowdDataset) -> None:
    labels = cc.aggregation.get("majority-vote", hard=True).fit(demo).labels
    known = (demo.gold >= 0) & demo.annotated
    confused = np.isin(demo.gold, [1, 3, 4])
    right = labels == demo.gold
    assert 0.9 < right[known].mean() < 0.97
    assert right[known & ~confused].mean() > right[known & confused].mean() + 0.05

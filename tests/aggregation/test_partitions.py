"""Partitions on disk give the results of the whole crowd in memory: here, within a memory limit, and on a cluster."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import crowdcore as cc
from crowdcore.aggregation import DawidSkene, fit_partitions
from crowdcore.core.errors import DataError, SettingError
from testkit.crowds import simulate_crowd
from tests.conftest import ROOT

NAMES = ["dawid-skene", "one-coin", "fast-dawid-skene", "conal-em"]


@pytest.fixture(scope="module")
def crowd():
    return simulate_crowd(1_500, 20, 4, per_task=4, accuracy=0.65)


def split(crowd, folder: Path, n: int = 4, known=None) -> Path:
    """Write shuffled partitions by task."""
    folder.mkdir()
    frame = crowd.annotations.astype(str)
    if known is not None:
        frame["known"] = np.where(known >= 0, np.array(crowd.classes, object)[known], None)[crowd.task]
    for k in range(n):
        frame[crowd.task % n == k].sample(frac=1, random_state=k).to_parquet(folder / f"part-{k}.parquet")
    return folder


def labels(result, crowd) -> tuple[np.ndarray, np.ndarray]:
    """Posterior and labels read back, in the crowd's order."""
    frame = pd.read_parquet(result.folder).set_index("task")
    assert len(frame) == crowd.n_tasks and frame.index.is_unique
    frame = frame.loc[crowd.task_ids]
    return frame[[f"p_{name}" for name in crowd.classes]].to_numpy(), frame["label"].to_numpy()


@pytest.mark.parametrize("memory_limit", [2**30, 200_000])
@pytest.mark.parametrize("name", NAMES)
def test_equals_the_fit_in_memory(tmp_path, crowd, name, memory_limit):
    model = cc.aggregation.get(name, max_iterations=8)
    expected = model.fit(crowd)
    result = fit_partitions(split(crowd, tmp_path / "in"), model, tmp_path / "out", memory_limit=memory_limit)
    posterior, label = labels(result, crowd)
    np.testing.assert_allclose(posterior, expected.posterior, atol=1e-8)
    np.testing.assert_array_equal(label, np.array(crowd.classes)[expected.labels])
    np.testing.assert_allclose(result.parts["confusion"], expected.confusion, atol=1e-8)
    np.testing.assert_allclose(result.parts["prior"], expected.prior, atol=1e-8)
    if expected.common_confusion is not None:
        np.testing.assert_allclose(result.parts["common_confusion"], expected.common_confusion, atol=1e-6)
    np.testing.assert_allclose(result.log_likelihood, expected.log_likelihood, rtol=1e-10)
    assert (result.converged, result.stopped) == (expected.converged, expected.stopped)
    assert (result.n_tasks, result.n_annotations) == (crowd.n_tasks, crowd.n_annotations)
    assert result.worker_ids == tuple(crowd.worker_ids) and result.classes == crowd.classes
    assert sorted(p.name for p in result.folder.iterdir()) == [f"part-{k}.parquet" for k in range(4)]


@pytest.mark.parametrize("name", ["dawid-skene", "conal-em"])
def test_known_classes_are_clamped(tmp_path, crowd, name):
    known = np.where(np.arange(crowd.n_tasks) % 5 == 0, (crowd.gold + 1) % 4, -1)
    model = cc.aggregation.get(name, max_iterations=10)
    expected = model.fit(crowd, known=known)
    source = split(crowd, tmp_path / "in", known=known)
    result = fit_partitions(source, model, tmp_path / "out", known="known", memory_limit=200_000)
    posterior, label = labels(result, crowd)
    np.testing.assert_allclose(posterior, expected.posterior, atol=1e-8)
    np.testing.assert_array_equal(label[known >= 0], np.array(crowd.classes)[known[known >= 0]])


def test_numbers_and_categories_as_ids(tmp_path):
    crowd = simulate_crowd(60, 5, 3)
    frame = pd.DataFrame({"task": crowd.task, "worker": crowd.worker + 8, "label": pd.Categorical(crowd.label)})
    (tmp_path / "in").mkdir()
    frame.to_parquet(tmp_path / "in" / "all.parquet")
    result = fit_partitions(tmp_path / "in", cc.aggregation.get("dawid-skene"), tmp_path / "out")
    assert result.worker_ids == ("8", "9", "10", "11", "12") and result.classes == ("0", "1", "2")
    labels_read = pd.read_parquet(result.folder)
    expected = cc.aggregation.get("dawid-skene").fit(crowd)
    np.testing.assert_array_equal(
        labels_read.set_index("task").loc[map(str, range(60)), "label"].astype(int), expected.labels
    )


def run(module: str, *arguments: object) -> str:
    command = [sys.executable, "-m", f"tests.aggregation.{module}", *map(str, arguments)]
    ran = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=240, check=False)
    assert ran.returncode == 0, ran.stderr[-3000:]
    return ran.stdout


@pytest.mark.slow
def test_two_worker_processes(tmp_path, crowd):
    pytest.importorskip("distributed", reason="dask is not installed")
    names = ["dawid-skene", "conal-em"]
    assert run("fit_on_cluster", split(crowd, tmp_path / "in", 6), tmp_path / "out", *names).strip() == "2"
    for name in names:
        expected = cc.aggregation.get(name, max_iterations=6).fit(crowd)
        saved = np.load(tmp_path / f"out-{name}.npz")
        np.testing.assert_allclose(saved["confusion"], expected.confusion, atol=1e-8)
        np.testing.assert_allclose(saved["objective"], expected.log_likelihood, rtol=1e-10)
        frame = pd.read_parquet(tmp_path / f"out-{name}").set_index("task").loc[crowd.task_ids]
        np.testing.assert_allclose(frame[[f"p_{c}" for c in crowd.classes]], expected.posterior, atol=1e-8)


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads /proc")
def test_memory_stays_near_the_limit_that_the_whole_does_not_fit(tmp_path):
    """2·10⁶ annotations in 8 files with a limit of 20 MB, where the fit in memory takes several times as much."""
    rng = np.random.default_rng(0)

    def frame(first: int, n_tasks: int) -> pd.DataFrame:
        task = np.arange(first, first + n_tasks).astype(str).repeat(5)
        worker, label = (rng.integers(n, size=5 * n_tasks) for n in (100, 10))
        return pd.DataFrame({"task": task, "worker": worker, "label": label})

    for folder in ("big", "warm"):
        (tmp_path / folder).mkdir()
    for k in range(8):
        frame(50_000 * k, 50_000).to_parquet(tmp_path / "big" / f"{k}.parquet")
    frame(0, 1_000).to_parquet(tmp_path / "warm" / "0.parquet")
    limit = 20 * 2**20
    within = float(run("fit_within_memory", limit, tmp_path, tmp_path / "out"))
    whole = float(run("fit_within_memory", "memory", tmp_path, tmp_path / "other"))
    assert whole > 3 * within  # within: the limit, and what Parquet reading and the parts of a fit take beside it
    with pytest.raises(DataError, match="smaller partitions"):
        fit_partitions(tmp_path / "big", cc.aggregation.get("dawid-skene"), tmp_path / "no", memory_limit=2**20)
    assert not (tmp_path / "no").exists()


def test_refusals(tmp_path, crowd):
    source = split(crowd, tmp_path / "in")
    model = cc.aggregation.get("dawid-skene")
    for refused in (
        cc.aggregation.get("majority-vote"),
        cc.aggregation.get("dawid-skene", restarts=2),
        cc.aggregation.get("mace", restarts=2),
        cc.aggregation.get("dawid-skene", device="cuda"),
        cc.aggregation.get("worker-clustering"),  # choosing the number of clusters needs all annotations at once
    ):
        with pytest.raises(SettingError, match=r"aggregator|device|clusters"):
            fit_partitions(source, refused, tmp_path / "out")
    with pytest.raises(SettingError, match="exist"):
        fit_partitions(source, model, source)
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match="parquet"):
        fit_partitions(tmp_path / "empty", model, tmp_path / "out")
    with pytest.raises(DataError, match="'gold'"):
        fit_partitions(source, model, tmp_path / "out", known="gold")
    frame = pd.read_parquet(source / "part-0.parquet")
    frame.iloc[:5].to_parquet(source / "part-9.parquet")
    with pytest.raises(DataError, match="partition"):
        fit_partitions(source, model, tmp_path / "out")
    frame.assign(worker=frame["worker"].where(frame.index != frame.index[3])).to_parquet(source / "part-0.parquet")
    with pytest.raises(DataError, match="empty"):
        fit_partitions(source, model, tmp_path / "out")
    frame.assign(known=[*crowd.classes[:2], *[None] * (len(frame) - 2)], task="same").to_parquet(
        source / "part-0.parquet"
    )
    with pytest.raises(DataError, match="'known'"):
        fit_partitions(source, model, tmp_path / "out", known="known")
    assert not (tmp_path / "out").exists()


def test_every_row_of_nested_folders_counts(tmp_path, crowd):
    flat = split(crowd, tmp_path / "flat")
    for k, file in enumerate(sorted(flat.iterdir())):
        target = tmp_path / "nested" / f"day={k % 2}" / f"part.{k // 2}.parquet"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(file.read_bytes())
    partitions = fit_partitions(tmp_path / "nested", DawidSkene(), tmp_path / "out")
    assert partitions.n_annotations == crowd.n_annotations
    assert len(list((tmp_path / "out").rglob("*.parquet"))) == 4

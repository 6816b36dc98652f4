"""Contract of every simulation; the demo and its judges."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import chisquare

import crowdcore as cc
from crowdcore.core.errors import DataError, SettingError
from crowdcore.data import simulate
from crowdcore.data.dataset import CrowdDataset
from crowdcore.data.simulate.base import as_tasks
from testkit import judges_demo

SMALL = {
    "tags": {"n_sentences": 60},
    "spans": {"n_sentences": 60},
    "synthetic": {"n_tasks": 600, "n_valid": 100, "n_test": 100},
    "large": {"n_tasks": 500, "n_workers": 20},
}
LARGER = {"tags": {"n_sentences": 800}, "large": {"n_tasks": 20_000}, "ccc": {"patterns": "COR-I", "per_pattern": 2}}
N_CLASSES = {"rodrigues": 2}


def source(name: str, n: int = 600, seed: int = 3):
    """Tasks in three splits, or None for simulations that make their own."""
    if simulate.get(name).makes_tasks:
        return None
    rng = np.random.default_rng(seed)
    gold = rng.integers(N_CLASSES.get(name, 10), size=n)
    return as_tasks((rng.standard_normal((n, 5)), gold), "tasks", np.arange(n) % 4 - (np.arange(n) % 4 == 3))


def make(name: str, n: int = 600, **settings):
    return simulate.get(name)(**{**SMALL.get(name, {}), **settings}).run(source(name, n))


@pytest.fixture(params=[n for n in simulate.names() if issubclass(simulate.get(n), simulate.ClassSimulation)])
def name(request) -> str:
    return request.param


def test_every_family_is_listed_with_a_function_of_its_name() -> None:
    assert " ".join(simulate.names()) == "ccc conal judges large ratings rodrigues spans synthetic tags tanno"
    for name in simulate.names():
        assert simulate.get(name).name == name
        assert callable(getattr(simulate, name))
    with pytest.raises(SettingError, match="'conal'"):
        simulate.get("conel")


def test_reachable_from_the_top() -> None:
    assert cc.data.simulate.synthetic(n_tasks=50, n_valid=5, n_test=5).n_tasks == 50


def test_settings_carry_bounds_and_descriptions(name: str) -> None:
    schema = simulate.get(name).model_json_schema()
    for field, schema_of in schema["properties"].items():
        assert schema_of["description"].endswith("."), field
        assert schema_of["default"] is not ...
        if schema_of.get("type") in ("integer", "number"):
            assert {"minimum", "exclusiveMinimum"} & set(schema_of), field
    assert simulate.get(name).title and simulate.get(name).paper


def test_same_seed_same_dataset_and_another_seed_another(name: str) -> None:
    one, two, other = make(name), make(name), make(name, seed=1)
    assert one.fingerprint == two.fingerprint != other.fingerprint
    for part in ("worker_confusion", "common_confusion", "omega", "used_common", "group"):
        np.testing.assert_array_equal(getattr(one.truth, part), getattr(two.truth, part))


def test_truth_fits_the_dataset(name: str) -> None:
    ds = make(name)
    truth = ds.truth
    assert truth.worker_confusion.shape == (ds.n_workers, ds.n_classes, ds.n_classes)
    np.testing.assert_allclose(truth.worker_confusion.sum(-1), 1, atol=1e-12)
    assert (truth.worker_confusion >= 0).all()
    if truth.common_confusion is not None:
        np.testing.assert_allclose(truth.common_confusion.sum(-1), 1, atol=1e-12)
        assert len(truth.omega) == len(truth.used_common) == ds.n_annotations
    assert truth.worker_role == () or len(truth.worker_role) == ds.n_workers
    assert truth.settings["simulation"] == name and truth.settings["seed"] == 0
    assert set(simulate.get(name).model_fields) <= set(truth.settings)
    json.loads(json.dumps(truth.settings, allow_nan=False))
    assert list(ds.worker_ids) == sorted(ds.worker_ids)


def test_annotations_are_sorted_distinct_and_only_of_training_tasks(name: str) -> None:
    ds = make(name)
    pair = ds.task.astype(np.int64) * ds.n_workers + ds.worker
    assert (np.diff(pair) > 0).all()
    given = source(name)
    if given is not None:
        assert set(ds.split[ds.task]) <= {0, -1}
        assert ds.annotated[given.split <= 0].all()
        np.testing.assert_array_equal(ds.gold, given.gold)


def test_labels_follow_the_stated_confusions(name: str) -> None:
    """Each (matrix, true class) row of labels against its stated probabilities, one chi-square a row, Bonferroni."""
    ds = make(name, n=12_000, **LARGER.get(name, {}))
    matrices = ds.truth.worker_confusion
    which = ds.worker
    if ds.truth.common_confusion is not None:
        matrices = np.concatenate([matrices, ds.truth.common_confusion[None]])
        which = np.where(ds.truth.used_common, ds.n_workers, which)
    counts = np.zeros_like(matrices)
    np.add.at(counts, (which, ds.gold[ds.task], ds.label), 1)
    assert counts[matrices == 0].sum() == 0
    p_values = []
    for row, expected in zip(counts.reshape(-1, ds.n_classes), matrices.reshape(-1, ds.n_classes), strict=True):
        possible = expected > 0
        if possible.sum() > 1 and row.sum() * expected[possible].min() >= 5:
            p_values.append(chisquare(row[possible], row.sum() * expected[possible]).pvalue)
    assert len(p_values) >= 4
    assert min(p_values) * len(p_values) > 1e-3
    assert max(p_values) > 0.5  # and the fit is not too good to be true


def test_sources_that_cannot_be(name: str) -> None:
    simulation = simulate.get(name)()
    if simulation.makes_tasks:
        with pytest.raises(SettingError, match="makes"):
            simulation.run((None, np.array([0, 1])))
        return
    with pytest.raises(SettingError, match="gold"):
        simulation.run()
    with pytest.raises(DataError, match="true"):
        simulation.run((None, np.array([-1, -1])))
    with pytest.raises(SettingError, match="vector"):
        simulation.run((None, np.array([[0.5]])))


def test_unknown_and_impossible_settings(name: str) -> None:
    with pytest.raises(SettingError, match=r"`setting`.*'colour'"):
        simulate.get(name)(colour="red")
    with pytest.raises(SettingError, match=r"`seed`.*0,.*1"):
        simulate.get(name)(seed=-1)


def test_tasks_without_gold_get_no_labels() -> None:
    gold = np.array([0, -1, 1, 0, -1, 1])
    ds = simulate.conal((None, gold), n_workers=5, per_task=2)
    np.testing.assert_array_equal(ds.annotated, gold >= 0)


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
    return [r for r, role_of in enumerate(demo.truth.worker_role) if role_of.startswith(word)]


def test_odd_workers_are_as_odd_as_said(demo: CrowdDataset) -> None:
    (at_random,), (single,), (copier,) = (role(demo, w) for w in ("random", "single", "copier"))
    few = role(demo, "few labels")
    assert sorted(demo.labels_per_worker[few]) == [3, 5, 8, 12, 16]
    assert np.delete(demo.labels_per_worker, few).min() > 20
    assert set(demo.label[demo.worker == single]) == {1}
    spread = np.bincount(demo.label[demo.worker == at_random], minlength=10) / (demo.worker == at_random).sum()
    assert spread.max() < 0.2
    leader = demo.worker_ids.get_loc(demo.truth.worker_role[copier].removeprefix("copier of "))
    by_name = {
        int(t): int(y) for t, y in zip(demo.task[demo.worker == leader], demo.label[demo.worker == leader], strict=True)
    }
    copied = [(t, y) for t, y in zip(demo.task, demo.label, strict=True) if t in by_name]
    of_copier = demo.worker == copier
    shared = of_copier & np.isin(demo.task, list(by_name))
    assert len(copied) and shared.sum() == 140
    assert all(by_name[int(t)] == y for t, y in zip(demo.task[shared], demo.label[shared], strict=True))
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


JUDGES_EMBEDDED = Path(__file__).resolve().parents[3] / "data" / "judges"


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
    names = sorted(path.name for path in JUDGES_EMBEDDED.iterdir())
    assert sorted(path.name for path in (tmp_path / "judges").iterdir()) == names
    for name in names:
        assert content(tmp_path / "judges" / name) == content(JUDGES_EMBEDDED / name), name
    assert sum(path.stat().st_size for path in JUDGES_EMBEDDED.iterdir()) < 100_000


def test_its_families_are_found() -> None:
    panel = cc.load_dataset("judges")
    worker_ids = {frozenset(panel.worker_ids[[*kin.members]]) for kin in cc.analysis.panel(panel).kin}
    families = [frozenset(n for n in panel.worker_ids if n.startswith(family)) for family in judges_demo.FAMILIES]
    assert worker_ids == {*families}

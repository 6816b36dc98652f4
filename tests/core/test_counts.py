"""Shared loops over counts: EM, classes of workers, latent classes, against enumeration."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from hypothesis.extra.numpy import arrays
from scipy.special import expit, logsumexp, softmax

from crowdcore.aggregation.glad import Crowd, e_step, task_sums
from crowdcore.core import compiled, counts, em, mistakes
from crowdcore.core.latent_loops import fill_posterior, fit_step
from crowdcore.core.mistakes import mistake_triples, repeats, soft_mistakes
from testkit.crowds import simulate_crowd
from tests.analysis.crowds import crowds, soft_reference
from tests.enumerated_tasks import ALONE, N_TASKS, N_WORKERS, C, joint, random_tasks, states

EITHER_WAY = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture(params=["numpy", "compiled"])
def way(request, monkeypatch):
    monkeypatch.setattr(compiled, "LARGE", 0 if request.param == "compiled" else 10**12)
    return request.param


@st.composite
def annotations(draw):
    """(task ascending, worker, label, n_tasks, n_workers, n_classes); some tasks and workers may have none."""
    n_tasks, n_workers, n_classes = (draw(st.integers(1, n)) for n in (9, 5, 4))
    n = draw(st.integers(0, 40))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    task, worker, label = (rng.integers(k, size=n, dtype=np.int32) for k in (n_tasks, n_workers, n_classes))
    return np.sort(task), worker, label, n_tasks, n_workers, n_classes


@EITHER_WAY
@given(annotations())
def test_vote_counts(way, crowd):
    task, _, label, n_tasks, _, n_classes = crowd
    expected = np.zeros((n_tasks, n_classes))
    for i, given_label in zip(task, label, strict=True):
        expected[i, given_label] += 1
    votes = counts.vote_counts(task, label, n_tasks, n_classes)
    assert votes.dtype == np.float64
    np.testing.assert_array_equal(votes, expected)


@EITHER_WAY
@given(annotations(), st.integers(0, 2**32))
def test_confusion_counts(way, crowd, seed):
    task, worker, label, n_tasks, n_workers, n_classes = crowd
    truth = np.random.default_rng(seed).integers(-1, n_classes, n_tasks, dtype=np.int32)
    expected = np.zeros((n_workers, n_classes, n_classes))
    for i, r, given_label in zip(task, worker, label, strict=True):
        if truth[i] >= 0:
            expected[r, truth[i], given_label] += 1
    np.testing.assert_array_equal(counts.confusion_counts(task, worker, label, truth, n_workers, n_classes), expected)


@EITHER_WAY
@given(annotations(), st.integers(0, 2**32))
def test_soft_confusion_counts(way, crowd, seed):
    task, worker, label, n_tasks, n_workers, n_classes = crowd
    rng = np.random.default_rng(seed)
    posterior = rng.dirichlet(np.ones(n_classes), n_tasks)
    posterior[rng.random(n_tasks) < 0.3] = np.nan
    expected = np.zeros((n_workers, n_classes, n_classes))
    for i, r, given_label in zip(task, worker, label, strict=True):
        if not np.isnan(posterior[i, 0]):
            expected[r, :, given_label] += posterior[i]
    np.testing.assert_allclose(
        counts.soft_confusion_counts(task, worker, label, posterior, n_workers), expected, atol=1e-12
    )


@pytest.mark.parametrize("n_classes", [1, 2, 5])
def test_most_probable(way, n_classes):
    posterior = np.random.default_rng(0).integers(0, 3, (300, n_classes)) / 2  # ties
    path = counts.most_probable(posterior)
    assert path.dtype == np.int32
    np.testing.assert_array_equal(path, [max(range(n_classes), key=lambda c: (row[c], -c)) for row in posterior])


@given(arrays(np.float64, (4, 3), elements=st.floats(-1e4, 1e4)))
def test_softmax_rows(scores):
    expected, total = softmax(scores, 1), logsumexp(scores, 1)
    shares = counts.softmax_rows(scores)
    np.testing.assert_allclose(scores, expected, atol=1e-15)
    np.testing.assert_allclose(shares, total, rtol=1e-14, atol=1e-12)


@given(st.integers(1, 300), st.integers(2, 400), st.sampled_from([np.int8, np.int16, np.int32, np.int64]), st.data())
def test_cells_hold_their_products_whatever_the_types_of_workers(n_workers, n_classes, kind, data):
    n_workers = min(n_workers, np.iinfo(kind).max)
    worker = np.array(data.draw(st.lists(st.integers(0, n_workers - 1), min_size=1, max_size=20)), kind)
    label = np.array([data.draw(st.integers(0, n_classes - 1)) for _ in worker], np.int32)
    made = counts.cells(worker, label, n_classes)
    want = [int(w) * n_classes + int(k) for w, k in zip(worker, label, strict=True)]
    assert made(slice(0, None)).tolist() == want and made(slice(1, 3)).tolist() == want[1:3]
    assert made(slice(0, 1)).dtype == np.int32


@pytest.mark.parametrize("large", [0, 10**9])
def test_counts_of_cells_are_the_same_however_many_tasks_are_counted_at_once(monkeypatch, large):
    rng = np.random.default_rng(0)
    start = np.concatenate([[0], np.cumsum(rng.integers(0, 5, 500))])
    worker, label = rng.integers(0, 7, (2, start[-1])).astype(np.int32)
    posterior = rng.dirichlet(np.ones(7), 500)
    posterior[::9] = np.nan
    monkeypatch.setattr(compiled, "LARGE", large)
    whole = counts.cell_counts(start, worker * 7 + label, posterior, 49)
    for size in (1, 13, 500):
        monkeypatch.setattr(counts, "TASKS", size)
        assert np.array_equal(counts.cell_counts(start, counts.cells(worker, label, 7), posterior, 49), whole)


def literal(crowd, truth):
    times, tasks = Counter(), {}
    for i, r, y in zip(crowd.task, crowd.worker, crowd.label, strict=True):
        if truth[i] >= 0:
            cell = int(truth[i]) * crowd.n_classes + int(y)
            times[cell, int(r)] += 1
            tasks.setdefault(cell, set()).add(int(i))
    return times, {cell: len(task) for cell, task in tasks.items()}


def triples_of(crowd, truth):
    return mistake_triples(crowd.task, crowd.worker, crowd.label, truth, crowd.n_workers, crowd.n_classes)


def check(sums, crowd, truth):
    times, tasks = literal(crowd, truth)
    assert dict(zip(zip(sums.cell.tolist(), sums.worker.tolist(), strict=True), sums.times, strict=True)) == times
    assert dict(zip(sums.cells.tolist(), sums.tasks.tolist(), strict=True)) == tasks
    order = sums.cell * crowd.n_workers + sums.worker
    assert (np.diff(order) > 0).all()
    assert (np.diff(sums.cells) > 0).all()


@given(crowds())
def test_triples_are_those_of_a_dictionary(crowd):
    check(triples_of(crowd, crowd.gold), crowd, crowd.gold)


@given(crowds())
def test_repeats_are_all_but_the_first(crowd):
    seen, expected = set(), []
    for pair in zip(crowd.task.tolist(), crowd.worker.tolist(), strict=True):
        expected.append(pair in seen)
        seen.add(pair)
    assert repeats(crowd.task, crowd.worker, crowd.n_workers).tolist() == expected


@pytest.mark.parametrize("per_task", [1, 3, 11])
def test_compiled_loops_count_the_same(monkeypatch, per_task):
    crowd = simulate_crowd(n_tasks=60_000, per_task=per_task, seed=per_task)
    truth = np.where(np.arange(crowd.n_tasks) % 7 == 0, -1, crowd.gold)
    plain = triples_of(crowd, truth)
    again = np.repeat(crowd.task, 2), np.repeat(crowd.worker, 2)
    plain_repeats = repeats(*again, crowd.n_workers)
    monkeypatch.setattr(mistakes, "_LARGE", 1)
    for part, expected in zip(triples_of(crowd, truth), plain, strict=True):
        np.testing.assert_array_equal(part, expected)
    np.testing.assert_array_equal(repeats(*again, crowd.n_workers), plain_repeats)


@pytest.mark.parametrize("per_task", [1, 4])
def test_compiled_soft_counts_are_the_same(monkeypatch, per_task):
    crowd = simulate_crowd(n_tasks=60_000, per_task=per_task, seed=per_task)
    task = np.append(crowd.task, crowd.task[::50])
    order = np.argsort(task, kind="stable")
    task = task[order]
    worker = np.append(crowd.worker, crowd.worker[::50])[order]
    label = np.append(crowd.label, crowd.label[::50])[order]
    posterior = soft_reference(crowd).posterior
    plain = soft_mistakes(task, worker, label, posterior, crowd.n_workers)
    monkeypatch.setattr(mistakes, "_LARGE", 1)
    for part, expected in zip(soft_mistakes(task, worker, label, posterior, crowd.n_workers), plain, strict=True):
        np.testing.assert_allclose(part, expected, rtol=1e-9)


def test_many_classes_take_memory_for_annotations_only():
    crowd = simulate_crowd(n_tasks=200, n_classes=10_000)
    triples = triples_of(crowd, crowd.gold)
    assert len(triples.cell) <= crowd.n_annotations
    check(triples, crowd, crowd.gold)


@pytest.fixture(params=["sparse", "compiled"])
def em_way(request, monkeypatch):
    monkeypatch.setattr(compiled, "LARGE", 0 if request.param == "compiled" else 10**12)
    monkeypatch.setattr(em, "n_ranges", lambda work, accumulator: 4)
    return request.param


def random_problem(rng, n_tasks, n_workers, n_classes, n_annotations, sharpness=1.0, known=True):
    """A table, the task of each annotation, and random parameters (the larger ``sharpness``, the more extreme)."""
    task = np.sort(rng.integers(n_tasks, size=n_annotations))
    worker, label = (rng.integers(n, size=n_annotations) for n in (n_workers, n_classes))
    start = np.searchsorted(task, np.arange(n_tasks + 1))
    clamped = np.where(rng.random(n_tasks) < 0.2, rng.integers(n_classes, size=n_tasks), -1) if known else None
    table = em.LabelTable.of(start, worker, label, n_workers, n_classes, clamped)
    scores = sharpness * rng.normal(size=(n_workers, n_classes, n_classes))
    log_confusion = (scores - logsumexp(scores, 1, keepdims=True)).reshape(-1, n_classes)
    log_prior = np.log(rng.dirichlet(np.ones(n_classes)))
    return table, task, log_confusion, log_prior


def literal_step(table, task, log_confusion, log_prior, hard=False):
    """One E-step, task by task and annotation by annotation."""
    posterior = np.zeros((table.n_tasks, table.n_classes))
    counts = np.zeros((table.n_cells, table.n_classes))
    likelihood = 0.0
    for i in range(table.n_tasks):
        cells = table.cell[task == i]
        joint = log_prior + sum((log_confusion[x] for x in cells), np.zeros(table.n_classes))
        if table.known[i] >= 0:
            posterior[i, table.known[i]] = 1
            likelihood += joint[table.known[i]]
        elif len(cells) and hard:
            posterior[i, joint.argmax()] = 1
            likelihood += joint.max()
        elif len(cells):
            posterior[i] = np.exp(joint - logsumexp(joint))
            likelihood += logsumexp(joint)
        for x in cells:
            counts[x] += posterior[i]
    return posterior, counts, likelihood


def check_step(problem, hard=False):
    table, task, log_confusion, log_prior = problem
    posterior = np.full((table.n_tasks, table.n_classes), 7.0)
    sums = em.em_step(table, log_confusion, log_prior, posterior, hard)
    expected, counts, likelihood = literal_step(table, task, log_confusion, log_prior, hard)
    np.testing.assert_allclose(posterior, expected, atol=1e-11)
    np.testing.assert_allclose(sums.counts, counts, atol=1e-10)
    np.testing.assert_allclose(sums.classes, expected.sum(0), atol=1e-10)
    assert sums.log_likelihood == pytest.approx(likelihood, rel=1e-12, abs=1e-9)


@EITHER_WAY
@given(
    st.integers(0, 2**32), st.integers(1, 12), st.integers(1, 4), st.integers(1, 5), st.integers(0, 60), st.booleans()
)
def test_step_equals_the_literal_one(em_way, seed, n_tasks, n_workers, n_classes, n_annotations, hard):
    check_step(random_problem(np.random.default_rng(seed), n_tasks, n_workers, n_classes, n_annotations), hard)


@pytest.mark.parametrize("hard", [False, True])
@pytest.mark.parametrize("sharpness", [1, 20, 300])
def test_long_tasks_and_extreme_workers_do_not_underflow(em_way, sharpness, hard):
    rng = np.random.default_rng(sharpness)
    check_step(random_problem(rng, 3, 30, 4, 2_000, sharpness), hard)  # some 670 labels per task
    check_step(random_problem(rng, 300, 30, 4, 2_000, sharpness), hard)  # products of 7 and sums mixed


def test_probabilities_near_the_ends_of_float64(em_way):
    """Two workers who are certain to 1e-300 disagree; a third decides."""
    tiny = 1e-300
    sure = np.array([[1 - tiny, tiny], [tiny, 1 - tiny]])
    log_confusion = np.log(np.concatenate([sure, sure, [[0.8, 0.2], [0.2, 0.8]]]))
    table = em.LabelTable.of(np.array([0, 3]), np.array([0, 1, 2]), np.array([0, 1, 1]), 3, 2)
    posterior = np.empty((1, 2))
    sums = em.em_step(table, log_confusion, np.log([0.5, 0.5]), posterior)
    np.testing.assert_allclose(posterior, [[0.2, 0.8]], atol=1e-12)
    assert sums.log_likelihood == pytest.approx(np.log(0.5) + np.log(tiny), abs=1e-9)


def test_class_without_share_and_cells_without_annotations(em_way):
    table = em.LabelTable.of(np.array([0, 2, 3]), np.array([0, 1, 1]), np.array([0, 1, 0]), 3, 2)
    log_confusion = np.log(np.full((6, 2), 0.5))
    log_confusion[4:] = -np.inf  # worker 2 has no annotations
    posterior = np.empty((2, 2))
    with np.errstate(divide="ignore"):
        sums = em.em_step(table, log_confusion, np.log([1.0, 0.0]), posterior)
    np.testing.assert_array_equal(posterior, [[1, 0], [1, 0]])
    assert sums.log_likelihood == pytest.approx(3 * np.log(0.5))


def test_expected_sums_under_a_given_posterior(em_way):
    table, task, *_ = random_problem(np.random.default_rng(5), 20, 4, 3, 90)
    posterior = np.random.default_rng(6).dirichlet(np.ones(3), 20)
    expected = np.zeros((table.n_cells, 3))
    for i, x in zip(task, table.cell, strict=True):
        expected[x] += posterior[i]
    sums = em.expected_sums(table, posterior)
    np.testing.assert_allclose(sums.counts, expected, atol=1e-12)
    np.testing.assert_allclose(sums.classes, posterior.sum(0), atol=1e-12)


def test_same_bits_on_any_number_of_cores(monkeypatch):
    monkeypatch.setattr(compiled, "LARGE", 0)
    monkeypatch.setattr(em, "n_ranges", lambda work, accumulator: 8)
    table, _, *parameters = random_problem(np.random.default_rng(0), 2_000, 20, 5, 9_000)
    steps = []
    for cores in (1, 2, 5):
        monkeypatch.setattr(compiled, "cores", lambda cores=cores: cores)
        posterior = np.empty((table.n_tasks, 5))
        steps.append((em.em_step(table, *parameters, posterior), posterior))
    for sums, posterior in steps[1:]:
        np.testing.assert_array_equal(posterior, steps[0][1])
        np.testing.assert_array_equal(sums.counts, steps[0][0].counts)
        assert sums.log_likelihood == steps[0][0].log_likelihood


def test_a_step_of_the_fit_is_the_enumeration_of_classes_difficulties_and_foils() -> None:
    tasks, model = random_tasks()
    label = tasks[2].reshape(N_TASKS, N_WORKERS)
    n_types, n_class, n_misled, log_likelihood = np.zeros((2, 2)), np.zeros(C), np.zeros(2), 0.0
    labels, right_slope, counts = np.zeros((N_WORKERS, C, 2)), np.zeros((N_WORKERS, C)), np.zeros((N_WORKERS, C, C))
    for i in range(N_TASKS):
        log_likelihood += np.log(sum(p for p, *_ in joint(tasks, model, i)))
        for p, z, d, foil in states(tasks, model, i):
            n_types[d, int(foil >= 0)] += p
            n_class[z] += p
            for r in range(N_WORKERS):
                b = label[i, r]
                own = ALONE * model[1][r, z, b]
                labels[r, z, d] += p
                right_slope[r, z] += p * model[4][d] * (b == z)
                alone = own / (1 - ALONE + own) if b == foil else 1
                counts[r, z, b] += p * alone
                if foil >= 0 and b != z:
                    n_misled += p * np.array([alone, 1 - alone])
    step = fit_step(0, N_TASKS, tasks, model)
    literal = n_types, n_class, labels, right_slope, counts, n_misled, log_likelihood
    for got, of in zip(step, literal, strict=True):
        assert got == pytest.approx(of, rel=1e-9, abs=1e-12)


def test_posterior_difficulty_and_foil_are_those_of_the_enumeration() -> None:
    tasks, model = random_tasks()
    crowd = model[0].mean(0)
    posterior, difficulty, foils = np.empty((N_TASKS, C)), np.empty(N_TASKS), np.full(N_TASKS, -1, np.int32)
    fill_posterior(0, N_TASKS, tasks, model, crowd, posterior, difficulty, foils)
    for i in range(N_TASKS):
        classes, misled, wrong = np.zeros(C), np.zeros((C, C)), 0.0
        for p, z, d, foil in states(tasks, model, i):
            classes[z] += p
            wrong += p * (1 - crowd[z, d])
            if foil >= 0:
                misled[z, foil] += p
        z = classes.argmax()
        likely = int(misled[z].argmax()) if misled[z].max() > classes[z] / 2 else -1
        assert posterior[i] == pytest.approx(classes, rel=1e-9)
        assert difficulty[i] == pytest.approx(wrong, rel=1e-9)
        assert foils[i] == likely
    assert {*foils.tolist()} > {-1}


@pytest.fixture(params=["numpy", "compiled"])
def posed(request, monkeypatch):
    if request.param == "compiled":
        monkeypatch.setattr(compiled, "LARGE", 0)
    data = simulate_crowd(80, 7, 3, per_task=3, accuracy=0.6)
    data = data.where(data.task != 4)
    known = np.where(np.arange(80) % 10 == 3, data.gold, -1).astype(np.int32)
    crowd = Crowd(data.task_start, data.task, data.worker, data.label, known, data.n_workers)
    rng = np.random.default_rng(0)
    return crowd, rng.normal(1, 1.5, 7), rng.lognormal(0, 1, 80), np.log([0.5, 0.3, 0.2])


def curvature(x):
    return np.tanh(x / 2) / (4 * x)


def test_e_step(posed):
    crowd, ability, ease, log_prior = posed
    posterior = np.full((80, 3), np.nan)
    likelihood, pull, weight = e_step(crowd, ability, ease, log_prior, posterior)
    expected, value = np.zeros((80, 3)), 0.0
    for i in range(80):
        joint = np.exp(log_prior)
        for j in np.flatnonzero(crowd.task == i):
            right = expit(ability[crowd.worker[j]] * ease[i])
            joint = joint * np.where(np.arange(3) == crowd.label[j], right, (1 - right) / 2)
        if crowd.known[i] >= 0:
            joint = joint * (np.arange(3) == crowd.known[i])
        if crowd.known[i] >= 0 or i != 4:
            expected[i] = joint / joint.sum()
            value += np.log(joint.sum())
    np.testing.assert_allclose(posterior, expected, atol=1e-12)
    assert likelihood == pytest.approx(value, rel=1e-12)
    for r in range(7):
        mine = crowd.worker == r
        i = crowd.task[mine]
        assert pull[r] == pytest.approx((ease[i] * (expected[i, crowd.label[mine]] - 0.5)).sum())
        assert weight[r] == pytest.approx((2 * curvature(ability[r] * ease[i]) * ease[i] ** 2).sum())


def test_task_sums(posed):
    crowd, ability, ease, _ = posed
    posterior = np.random.default_rng(1).dirichlet(np.ones(3), 80)
    linear, quadratic = task_sums(crowd, ability, ease, posterior)
    for i in range(80):
        mine = crowd.task == i
        a = ability[crowd.worker[mine]]
        assert linear[i] == pytest.approx((a * (posterior[i, crowd.label[mine]] - 0.5)).sum())
        assert quadratic[i] == pytest.approx((curvature(a * ease[i]) * a**2).sum())


def test_curvature_at_zero_is_its_limit(posed):
    crowd, ability, ease, _ = posed
    _, quadratic = task_sums(crowd, ability * 1e-9, ease, np.full((80, 3), 1 / 3))
    expected = [((ability[crowd.worker[crowd.task == i]] * 1e-9) ** 2).sum() / 8 for i in range(80)]
    np.testing.assert_allclose(quadratic, expected, rtol=1e-9)

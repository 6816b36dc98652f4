"""Verdicts on tasks: sure labels, unsure ones, doubtful gold, those that no label settles; and in which order."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import gmean

from crowdcore import analysis
from crowdcore.analysis.verdicts.peers import peer_beliefs
from crowdcore.analysis.verdicts.tasks import REASONS
from crowdcore.core.errors import SettingError
from testkit.known_truth import HONEST, PLANTED
from testkit.planted import honest_crowd
from tests.analysis.crowds import make_crowd

ROWS = [(task, worker, task % 2) for task in range(60) for worker in range(6)]  # six faultless workers


def crowd(extra: list[tuple[int, int, int]], n_tasks: int, gold: list[int] | None = None):
    task, worker, label = zip(*ROWS, *extra, strict=True)
    known = None if gold is None else np.array([*[i % 2 for i in range(60)], *gold])
    return make_crowd(task, worker, label, n_tasks, 6, 2, known)


def test_agreement_is_fine_one_label_is_not_and_none_is_unlabelled() -> None:
    found = analysis.task_verdicts(crowd([(60, 0, 1)], 62), "majority-vote")
    assert set(found.verdict[:60]) == {"fine"}
    assert found.verdict[60:].tolist() == ["relabel", "unlabelled"]
    assert REASONS[found.reason[60]] == "only one label"
    named = found.frame()
    assert named["label"].isna().tolist() == [False] * 61 + [True]
    assert named.loc[0, ["label", "verdict"]].tolist() == [found.classes[found.label[0]], "fine"]


def test_faultless_workers_who_split_make_a_task_ambiguous() -> None:
    split = [(60, worker, worker % 2) for worker in range(6)]
    found = analysis.task_verdicts(crowd(split, 61), "dawid-skene")
    assert found.verdict[60] == "ambiguous"
    assert found.q_value[60] <= 0.05
    assert found.dissent[60] == pytest.approx(0.5)


def test_gold_that_faultless_workers_contradict_is_to_be_checked() -> None:
    found = analysis.task_verdicts(crowd([(60, worker, 0) for worker in range(6)], 61, [1]))
    assert found.verdict[60] == "check"
    assert "gold" in REASONS[found.reason[60]]
    assert (found.label[60], found.gold[60]) == (0, 1)
    assert found.order[0] == 60


def test_no_label_is_asked_for_where_gold_is_known() -> None:
    simulated = honest_crowd(4)
    half = replace(simulated, gold=np.where(np.arange(simulated.n_tasks) % 2, simulated.gold, -1))
    found = analysis.task_verdicts(half)
    again = found.verdict == "relabel"
    assert again.any()
    assert (half.gold[again] < 0).all()
    assert (analysis.task_verdicts(simulated).verdict != "relabel").all()


def test_label_probability_and_order_come_from_one_distribution() -> None:
    simulated = honest_crowd(4)
    for reference in ("gold", "auto", "majority-vote"):
        truth = analysis.resolve_reference(simulated, reference)
        found = analysis.task_verdicts(simulated, truth)
        assert (found.posterior.argmax(1) == found.label).all()
        assert found.sure == pytest.approx(found.posterior.max(1))
        assert sorted(found.order) == list(range(simulated.n_tasks))
        assert (np.diff(found.gain[found.order]) <= 0).all()
        if reference == "auto":
            assert (found.label == truth.labels).all()


KINDS = {**PLANTED, **HONEST}


@pytest.mark.parametrize("kind", ["tickets", "strict and lenient", "guideline", "few labels", "teams on blocks"])
def test_wrong_labels_come_first_as_often_as_by_auto_s_own_posterior(kind: str) -> None:
    ours = by_auto = 0
    for seed in range(2):
        known = KINDS[kind](np.random.default_rng([400, seed])).without_gold()
        truth = analysis.resolve_reference(known.dataset, "auto")
        found, bad = analysis.task_verdicts(known.dataset, truth), truth.labels != known.true
        assert truth.posterior is not None
        first = np.argsort(truth.posterior.max(1), kind="stable")[: bad.sum()]
        ours, by_auto = ours + bad[found.order[: bad.sum()]].sum(), by_auto + bad[first].sum()
    assert ours >= by_auto - 2  # ties and flattening move single tasks


@pytest.mark.parametrize("eta", [0.0, 0.2])
def test_the_belief_is_bayes_rule_by_a_new_count_of_the_other_tasks(eta: float) -> None:
    simulated = honest_crowd(4, n_tasks=40, n_workers=5)
    repeat = np.flatnonzero(simulated.task == 7)[:1]  # of a repeat the first label counts
    rows = np.r_[: repeat[0] + 1, repeat, repeat[0] + 1 : simulated.n_annotations]
    label = simulated.label[rows]
    label[repeat + 1] = (label[repeat] + 1) % 4
    repeated = replace(simulated, task=simulated.task[rows], worker=simulated.worker[rows], label=label, extra=None)
    for crowd in (simulated, repeated):
        found = peer_beliefs(crowd, analysis.resolve_reference(crowd, "gold"), eta).held_out
        for task in (0, 7, 23):
            counts = analysis.worker_confusion(simulated.where(simulated.task != task)).counts
            pooled = counts.sum(0) + 0.5
            pooled /= pooled.sum(1, keepdims=True)
            belief = counts.sum((0, 2)) + 0.5
            own = simulated.task == task
            worker, given = simulated.worker[own], simulated.label[own]
            shares = (counts + 4 * pooled) / (counts.sum(2, keepdims=True) + 4)
            for label, times in enumerate(np.bincount(given)):
                if times:
                    mean = gmean(shares[worker[given == label], :, label], 0)
                    belief = belief * np.prod([(1 - eta) * mean + eta * k for k in range(times)], 0)
            assert found[task] == pytest.approx(belief / belief.sum())


def test_a_model_s_task_is_taken_out_by_what_it_counted() -> None:
    simulated = honest_crowd(4, n_tasks=40, n_workers=5)
    truth = analysis.resolve_reference(simulated, "dawid-skene")
    assert truth.posterior is not None
    found = peer_beliefs(simulated, truth)
    for task in (0, 7, 23):
        unknown = truth.posterior.copy()
        unknown[task] = np.nan  # the task is in no count
        expected = peer_beliefs(simulated, replace(truth, posterior=unknown), found.dependence).crowd[task]
        assert found.held_out[task] == pytest.approx(expected, abs=1e-4)
        assert not np.allclose(found.crowd[task], expected, atol=1e-4)


def test_guesses_contradict_gold_as_often_as_guesses_do() -> None:
    crowd = honest_crowd(1, n_tasks=400, n_classes=10, n_workers=100, per_task=3)
    guesses = replace(crowd, label=np.random.default_rng(2).integers(10, size=crowd.n_annotations))
    found = analysis.task_verdicts(guesses)
    assert (found.label != found.gold).mean() == pytest.approx(0.9, abs=0.05)


def test_a_moved_threshold_moves_verdicts() -> None:
    simulated = honest_crowd(4)
    strict, lax = (analysis.task_verdicts(simulated, "dawid-skene", sure=sure) for sure in (0.99, 0.6))
    assert (strict.verdict == "relabel").sum() > (lax.verdict == "relabel").sum()
    with pytest.raises(SettingError, match="sure"):
        analysis.task_verdicts(simulated, sure=1.0)


def test_mistakes_alone_are_rarely_called_ambiguity() -> None:
    shares = [(analysis.task_verdicts(honest_crowd(s, difficulty=0.0)).verdict == "ambiguous").mean() for s in range(4)]
    assert np.mean(shares) <= 0.02


@pytest.mark.parametrize("reference", ["auto", "majority-vote"])
def test_grades_near_a_border_are_less_sure_and_no_less_right_where_workers_differ_in_strictness(
    reference: str,
) -> None:
    sure, right, labels, plain = 0, 0, 0, 0
    for seed in range(700, 704):
        known = HONEST["strict and lenient, dense"](np.random.default_rng([seed, 25])).without_gold()
        found = analysis.task_verdicts(known.dataset, reference)
        said = found.sure >= 0.99
        sure, right = sure + said.sum(), right + (found.label[said] == known.true[said]).sum()
        nameless = replace(known.dataset, classes=tuple("abcde"))  # classes without an order
        plain += (analysis.task_verdicts(nameless, reference).label == known.true).sum()
        labels += (found.label == known.true).sum()
        np.testing.assert_allclose(found.posterior.sum(1), 1)
    assert sure >= 40
    assert right / sure >= 0.95
    assert labels > plain


def test_numbers_that_are_no_grades_lie_beside_nothing() -> None:
    crowd = honest_crowd(4, n_classes=4)
    numbers, letters = (replace(crowd, classes=tuple(names)) for names in ("1234", "abcd"))
    found = [analysis.task_verdicts(named, "auto") for named in (numbers, letters)]
    np.testing.assert_array_equal(found[0].posterior, found[1].posterior)

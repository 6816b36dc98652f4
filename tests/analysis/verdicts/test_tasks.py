"""Verdicts on tasks, beliefs about them, and wrong gold."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import pytest
from scipy.stats import gmean

from crowdcore import analysis
from crowdcore.aggregation._evidence import estimate_dependence
from crowdcore.analysis.verdicts.peers import peer_beliefs
from crowdcore.analysis.verdicts.tasks import REASONS, wrong_gold
from crowdcore.core.errors import SettingError
from crowdcore.core.types import BoolArray, IntArray
from crowdcore.data import from_frame
from crowdcore.data.dataset import CrowdDataset
from crowdcore.exhibits import verdicts, view, worker_page
from testkit.crowds import simulated
from testkit.known_truth import HONEST, PLANTED, Known, guideline, honest, tickets
from testkit.planted import HONEST as SIMULATED, honest_crowd
from tests.analysis.crowds import make_crowd

ROWS = [(task, worker, task % 2) for task in range(60) for worker in range(6)]  # six faultless workers


def crowd(extra: list[tuple[int, int, int]], n_tasks: int, gold: list[int] | None = None):
    task, worker, label = zip(*ROWS, *extra, strict=True)
    known = None if gold is None else np.array([*[i % 2 for i in range(60)], *gold])
    return make_crowd(task, worker, label, n_tasks, 6, 2, known)


def test_agreement_is_fine_one_label_is_not_and_none_is_unlabelled() -> None:
    verdicts = analysis.task_verdicts(crowd([(60, 0, 1)], 62), "majority-vote")
    assert set(verdicts.verdict[:60]) == {"fine"}
    assert verdicts.verdict[60:].tolist() == ["relabel", "unlabelled"]
    assert REASONS[verdicts.reason[60]] == "only one label"
    named = verdicts.frame()
    assert named["label"].isna().tolist() == [False] * 61 + [True]
    assert named.loc[0, ["label", "verdict"]].tolist() == [verdicts.classes[verdicts.label[0]], "fine"]


def test_faultless_workers_who_split_make_a_task_ambiguous() -> None:
    split = [(60, worker, worker % 2) for worker in range(6)]
    verdicts = analysis.task_verdicts(crowd(split, 61), "dawid-skene")
    assert verdicts.verdict[60] == "ambiguous"
    assert verdicts.q_value[60] <= 0.05
    assert verdicts.dissent[60] == pytest.approx(0.5)


def test_gold_that_faultless_workers_contradict_is_to_be_checked() -> None:
    verdicts = analysis.task_verdicts(crowd([(60, worker, 0) for worker in range(6)], 61, [1]))
    assert verdicts.verdict[60] == "check"
    assert "gold" in REASONS[verdicts.reason[60]]
    assert (verdicts.label[60], verdicts.gold[60]) == (0, 1)
    assert verdicts.order[0] == 60


def test_no_label_is_asked_for_where_gold_is_known() -> None:
    simulated = honest_crowd(4)
    half = replace(simulated, gold=np.where(np.arange(simulated.n_tasks) % 2, simulated.gold, -1))
    verdicts = analysis.task_verdicts(half)
    again = verdicts.verdict == "relabel"
    assert again.any()
    assert (half.gold[again] < 0).all()
    assert (analysis.task_verdicts(simulated).verdict != "relabel").all()


def test_label_probability_and_order_come_from_one_distribution() -> None:
    simulated = honest_crowd(4)
    for reference in ("gold", "auto", "majority-vote"):
        truth = analysis.resolve_reference(simulated, reference)
        verdicts = analysis.task_verdicts(simulated, truth)
        assert (verdicts.posterior.argmax(1) == verdicts.label).all()
        assert verdicts.sure == pytest.approx(verdicts.posterior.max(1))
        assert sorted(verdicts.order) == list(range(simulated.n_tasks))
        assert (np.diff(verdicts.gain[verdicts.order]) <= 0).all()
        if reference == "auto":
            assert (verdicts.label == truth.labels).all()


KINDS = {**PLANTED, **HONEST}


@pytest.mark.parametrize("kind", ["tickets", "strict and lenient", "guideline", "few labels", "teams on blocks"])
def test_wrong_labels_come_first_as_often_as_by_auto_s_own_posterior(kind: str) -> None:
    ours = by_auto = 0
    for seed in range(2):
        known = KINDS[kind](np.random.default_rng([400, seed])).without_gold()
        truth = analysis.resolve_reference(known.dataset, "auto")
        verdicts, bad = analysis.task_verdicts(known.dataset, truth), truth.labels != known.true
        assert truth.posterior is not None
        first = np.argsort(truth.posterior.max(1), kind="stable")[: bad.sum()]
        ours, by_auto = ours + bad[verdicts.order[: bad.sum()]].sum(), by_auto + bad[first].sum()
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
        beliefs = peer_beliefs(crowd, analysis.resolve_reference(crowd, "gold"), eta).held_out
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
            assert beliefs[task] == pytest.approx(belief / belief.sum())


def test_a_model_s_task_is_taken_out_by_what_it_counted() -> None:
    simulated = honest_crowd(4, n_tasks=40, n_workers=5)
    truth = analysis.resolve_reference(simulated, "dawid-skene")
    assert truth.posterior is not None
    beliefs = peer_beliefs(simulated, truth)
    for task in (0, 7, 23):
        unknown = truth.posterior.copy()
        unknown[task] = np.nan  # the task is in no count
        expected = peer_beliefs(simulated, replace(truth, posterior=unknown), beliefs.dependence).crowd[task]
        assert beliefs.held_out[task] == pytest.approx(expected, abs=1e-4)
        assert not np.allclose(beliefs.crowd[task], expected, atol=1e-4)


def test_guesses_contradict_gold_as_often_as_guesses_do() -> None:
    crowd = honest_crowd(1, n_tasks=400, n_classes=10, n_workers=100, per_task=3)
    guesses = replace(crowd, label=np.random.default_rng(2).integers(10, size=crowd.n_annotations))
    verdicts = analysis.task_verdicts(guesses)
    assert (verdicts.label != verdicts.gold).mean() == pytest.approx(0.9, abs=0.05)


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
def test_grades_near_a_border_are_less_sure_and_no_less_right_where_workers_differ_in_strictness(reference):
    sure, right, labels, plain = 0, 0, 0, 0
    for seed in range(700, 702):
        known = HONEST["strict and lenient, dense"](np.random.default_rng([seed, 25])).without_gold()
        verdicts = analysis.task_verdicts(known.dataset, reference)
        hits = verdicts.sure >= 0.99
        sure, right = sure + hits.sum(), right + (verdicts.label[hits] == known.true[hits]).sum()
        nameless = replace(known.dataset, classes=tuple("abcde"))  # classes without an order
        plain += (analysis.task_verdicts(nameless, reference).label == known.true).sum()
        labels += (verdicts.label == known.true).sum()
        np.testing.assert_allclose(verdicts.posterior.sum(1), 1)
    assert sure >= 20
    assert right / sure >= 0.95
    assert labels > plain


def test_numbers_that_are_no_grades_lie_beside_nothing() -> None:
    crowd = honest_crowd(4, n_classes=4)
    numbers, letters = (replace(crowd, classes=tuple(names)) for names in ("1234", "abcd"))
    verdicts = [analysis.task_verdicts(named, "auto") for named in (numbers, letters)]
    np.testing.assert_array_equal(verdicts[0].posterior, verdicts[1].posterior)


FOILS = SIMULATED["4 classes, hard, own foils"]


def test_eta_is_the_dependence_that_the_beliefs_leave() -> None:
    crowd = honest_crowd(3, **FOILS)
    beliefs = peer_beliefs(crowd, analysis.resolve_reference(crowd, "dawid-skene"))
    assert beliefs.dependence > 0.05
    assert estimate_dependence(crowd, beliefs.held_out) == pytest.approx(beliefs.dependence, abs=5e-3)


def test_workers_whose_labels_are_copied_within_a_task_agree_beyond_what_they_explain() -> None:
    rng = np.random.default_rng(5)
    n_tasks, per_task = 2000, 5
    gold, task = rng.integers(3, size=n_tasks), np.repeat(np.arange(n_tasks), per_task)
    worker = np.tile(np.arange(per_task), n_tasks)

    def given(n: int) -> IntArray:
        """Labels of tasks 0 … of which 70 % are right."""
        return np.where(rng.random(n) < 0.7, gold[:n], (gold[:n] + rng.integers(1, 3, n)) % 3)

    look = given(n_tasks)[task]
    own = np.stack([given(n_tasks) for _ in range(per_task)], 1).ravel()
    label = np.where(rng.random(len(task)) < 0.6, look, own)
    shared, honest = (make_crowd(task, worker, labels, n_tasks, per_task, 3) for labels in (label, own))
    truth = np.eye(3)[gold]
    assert estimate_dependence(shared, truth) == pytest.approx(0.36, abs=0.04)  # both follow the look: 0.6²
    assert estimate_dependence(honest, truth) < 0.01


def test_a_crowd_without_mistakes_has_no_dependence() -> None:
    task, worker = np.repeat(np.arange(60), 6), np.tile(np.arange(6), 60)
    crowd = make_crowd(task, worker, task % 2, 60, 6, 2)
    verdicts = analysis.task_verdicts(crowd, "dawid-skene")
    assert verdicts.dependence < 1e-3
    assert verdicts.in_doubt < 0.01


def test_as_many_labels_are_wrong_as_expected() -> None:
    wrong = expected = 0.0
    for seed in range(40, 43):
        crowd = honest_crowd(seed, **FOILS)
        verdicts = analysis.task_verdicts(crowd, "auto")
        wrong, expected = wrong + (verdicts.label != crowd.gold).sum(), expected + verdicts.in_doubt
    assert 0.6 < expected / wrong < 1.2  # 0.30 if labels are taken as independent given the class
    independent = simulated("large", 3)
    verdicts = analysis.task_verdicts(independent, "auto")
    assert verdicts.in_doubt / (verdicts.label != independent.gold).sum() == pytest.approx(1, abs=0.15)


def test_labels_that_are_independent_have_no_dependence() -> None:
    crowds = [honest_crowd(seed, difficulty=0.0) for seed in range(2)]
    assert np.mean([analysis.task_verdicts(crowd, "auto").dependence for crowd in crowds]) < 0.03


REFERENCES = ["auto", "dawid-skene", "majority-vote"]
UNKNOWN = (
    "labelled the same tasks. Where the two differ, labels do not tell who is wrong: gold would, or a third worker."
)


def two(agree: float, *, n: int = 60, n_classes: int = 2, names: tuple[str, str] = ("anna", "ben")) -> CrowdDataset:
    """Two workers who give the same label to a share of the tasks; anna is always right."""
    rng = np.random.default_rng(1)
    true = rng.integers(n_classes, size=n)
    other = np.where(np.arange(n) < agree * n, true, (true + rng.integers(1, n_classes, n)) % n_classes)
    tasks = [f"{names[0]} {i}" for i in range(n)]
    frame = pd.DataFrame(
        {
            "task": tasks * 2,
            "worker": np.repeat(names, n),
            "label": [f"c{label}" for label in np.r_[true, other]],
            "timestamp": 1_700_000_000 + 60 * np.tile(np.arange(n), 2),
        }
    )
    return from_frame(frame, gold={task: f"c{label}" for task, label in zip(tasks, true, strict=True)})


@pytest.mark.parametrize("reference", REFERENCES)
@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("agree", [0.0, 0.6])
def test_nobody_is_accused(reference: str, n_classes: int, agree: float) -> None:
    verdicts = analysis.worker_verdicts(two(agree, n=200, n_classes=n_classes), reference)
    assert set(verdicts.verdict) == {"underpowered"}  # anna knows all, ben less: the labels do not tell
    assert not verdicts.train.any()
    assert not verdicts.accused.any()


@pytest.mark.parametrize("agree", [0.75, 0.95])
def test_two_are_trusted_who_both_know_half_whatever_the_other_does(agree: float) -> None:
    verdicts = analysis.worker_verdicts(two(agree, n=400, n_classes=4), "auto")
    assert 0.5 < verdicts.low.min() ** 2 < (agree - 1 / 4) * 4 / 3  # what ben knows
    assert set(verdicts.verdict) == {"trust"}


@pytest.mark.parametrize("gold", [True, False])
def test_who_gives_the_other_class_is_no_guesser(gold: bool) -> None:
    rng, true = np.random.default_rng(3), np.arange(200) % 2
    task, worker = np.divmod(np.arange(1600), 8)
    label = np.where(rng.random(1600) < 0.9, true[task], 1 - true[task])
    label = np.where(worker == 0, 1 - label, label)
    of = view(make_crowd(task, worker, label, 200, 8, 2, true), "gold" if gold else "auto")
    result, table = of.of(analysis.worker_verdicts), verdicts.worker_verdicts(of).table.set_index("worker")
    assert result.high[0] < 0 and result.verdict[0] == "check" and "guessing" not in table["reason"]["w0"]


@pytest.mark.parametrize("reference", REFERENCES)
def test_the_reason_says_what_would_tell(reference: str) -> None:
    of = view(two(0.0), reference)
    table = verdicts.worker_verdicts(of).table.set_index("worker")
    assert table["verdict"].tolist() == ["underpowered"] * 2
    assert table["reason"]["anna"] == f"Only ben {UNKNOWN}"
    assert table["reason"]["ben"] == f"Only anna {UNKNOWN}"
    assert verdicts.verdicts(of).notes[1].startswith("Nobody can be accused")
    assert "third opinion" in worker_page.worker_verdict(of, "anna").table["message"].iloc[0]


def test_nobody_is_told_that_more_labels_would_help_where_nobody_else_labels_the_tasks() -> None:
    alone = from_frame(pd.DataFrame({"task": ["a", "b"], "worker": "ann", "label": ["x", "y"]}))
    row = worker_page.worker_verdict(view(alone, "auto"), "ann").table["message"].iloc[0]
    assert "2 labels" in row and "other opinions" in row


def test_gold_tells_who_is_wrong_and_agreement_is_trusted() -> None:
    assert analysis.worker_verdicts(two(0.6, n=200), "gold").verdict.tolist() == ["trust", "check"]
    assert analysis.worker_verdicts(two(1.0), "auto").verdict.tolist() == ["trust", "trust"]


def test_two_teams_of_two_without_a_common_task_are_two_such_pairs() -> None:
    teams = [two(0.0), two(0.0, names=("carla", "dan"))]
    frame = pd.concat([team.annotations for team in teams])
    verdicts = analysis.worker_verdicts(from_frame(frame), "auto")
    assert verdicts.only_peer.tolist() == [1, 0, 3, 2]
    assert verdicts.verdict.tolist() == ["underpowered"] * 4


def test_a_third_worker_on_one_of_the_tasks_is_a_judge() -> None:
    frame = two(0.5).annotations
    more = frame[frame["worker"] == "ben"].assign(worker="carla")
    verdicts = analysis.worker_verdicts(from_frame(pd.concat([frame, more])), "majority-vote")
    assert (verdicts.only_peer == -1).all()


GOLD_KINDS = {
    "plain": partial(honest, n_tasks=400, per_task=10),
    "guideline": partial(guideline, n_tasks=400),
    "tickets": tickets,
    "unequal classes": partial(honest, n_tasks=400, per_task=6, prior=(0.7, 0.15, 0.1, 0.05)),
}


def with_wrong(known: Known, share: float, rng: np.random.Generator) -> tuple[CrowdDataset, BoolArray]:
    """The crowd with a share of gold of a wrong class, and (n_tasks,) which."""
    n, n_classes = len(known.true), known.dataset.n_classes
    wrong = np.isin(np.arange(n), rng.choice(n, round(share * n), replace=False))
    gold = np.where(wrong, (known.true + rng.integers(1, n_classes, n)) % n_classes, known.true)
    return replace(known.dataset, gold=gold.astype(np.int32)), wrong


@pytest.mark.parametrize("kind", GOLD_KINDS)
def test_most_of_two_per_cent_wrong_gold_is_found_and_little_else(kind: str) -> None:
    hits = false = planted = 0
    for seed in range(4):
        rng = np.random.default_rng([300, seed])
        crowd, wrong = with_wrong(GOLD_KINDS[kind](rng), 0.02, rng)
        doubted = wrong_gold(crowd, crowd.gold) > 0.5
        hits, false, planted = hits + (doubted & wrong).sum(), false + (doubted & ~wrong).sum(), planted + wrong.sum()
    assert hits >= 0.5 * planted
    assert false <= 0.3 * hits


@pytest.mark.parametrize(
    "make", [GOLD_KINDS["guideline"], HONEST["own foils"], HONEST["strict and lenient, dense"], HONEST["panel of 6"]]
)
def test_right_gold_that_the_workers_contradict_together_is_not_doubted(make):
    contradicted = doubted = tasks = 0
    for seed in range(4):
        crowd = make(np.random.default_rng([310, seed])).dataset
        verdicts = analysis.task_verdicts(crowd)
        contradicted += (verdicts.label != crowd.gold).sum()
        doubted, tasks = doubted + (verdicts.verdict == "check").sum(), tasks + crowd.n_tasks
    assert contradicted >= 0.03 * tasks
    assert doubted <= 0.015 * tasks


def test_known_mistakes_explain_the_labels_of_all_workers() -> None:
    """Unanimous labels against gold: a doubt where nobody errs so, none where everybody often does."""
    rng = np.random.default_rng(0)
    gold = np.repeat(np.arange(4), 50)
    task, worker = np.repeat(np.arange(200), 5), np.tile(np.arange(5), 200)
    label = np.where((gold[task] == 0) & (rng.random(1000) < 0.7), 1, gold[task])
    rare = np.array([120, 121])
    label[np.isin(task, rare)] = 3
    crowd = replace(honest(rng, n_tasks=200).dataset, task=task, worker=worker, label=label, gold=gold, extra=None)
    doubt = wrong_gold(crowd, crowd.gold)
    often = np.flatnonzero((label.reshape(200, 5) == 1).all(1) & (gold == 0))
    assert len(often) > 3
    assert (doubt[rare] > 0.5).all()
    assert (doubt[often] < 0.1).all()


def test_tasks_without_gold_or_labels_have_no_doubt() -> None:
    crowd = honest(np.random.default_rng(1), n_tasks=60).dataset
    gold = np.where(np.arange(60) < 30, crowd.gold, -1)
    some = crowd.where(crowd.task != 3)
    doubt = wrong_gold(some, gold)
    assert not doubt[30:].any()
    assert doubt[3] == 0
    assert ((doubt >= 0) & (doubt <= 1)).all()
    assert not wrong_gold(some, np.full(60, -1)).any()

"""Copies, planted groups and pushes are found; honest, able, weak and odd crowds are left alone."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from crowdcore import DataError, SettingError, analysis, read_dataset
from crowdcore.analysis import pair_mistakes
from crowdcore.analysis.coordinated.copying import (
    AgreementByOthers,
    agreement_by_others,
    closeness,
    common_labels,
    copying,
)
from crowdcore.analysis.reference import resolve_reference
from crowdcore.core.latent_loops import fill_pairs
from crowdcore.data import simulate
from crowdcore.data.dataset import CrowdDataset
from testkit.erring import PAIRS, TASKS, unequal
from testkit.known_truth import COPIES, HONEST, PLANTED
from testkit.planted import ATTACKED, attacked_crowd, caught, common_confusion, honest_crowd, own_confusions
from tests.enumerated_tasks import N_TASKS, N_WORKERS, C, chance, random_tasks, states


def named(crowd: CrowdDataset, reference: str = "gold") -> set[tuple[int, int]]:
    pairs = copying(crowd, resolve_reference(crowd, reference))
    return set(zip(*(of[pairs.named()].tolist() for of in (pairs.worker_a, pairs.worker_b)), strict=True))


@pytest.mark.parametrize("reference", ["gold", "majority-vote"])
@pytest.mark.parametrize("kind", ["copies all, 2 classes", "copies all, 4 classes", "tickets"])
def test_a_pair_that_copies_is_named_alone(kind: str, reference: str) -> None:
    for seed in range(3):
        known = PLANTED[kind](np.random.default_rng(seed))
        crowd = known.dataset if reference == "gold" else known.without_gold().dataset
        assert named(crowd, reference) == {tuple(sorted(known.planted[COPIES]))}


@pytest.mark.parametrize(
    "kind", ["guideline", "skill of two dimensions, dense", "strict and lenient, dense", "own foils"]
)
def test_who_is_alike_for_another_reason_is_not_named(kind: str) -> None:
    for seed in range(3):
        known = HONEST[kind](np.random.default_rng(seed))
        assert not named(known.dataset) and not named(known.without_gold().dataset, "majority-vote")


def test_who_may_copy_half_is_not_trusted_and_most_who_do_not_are() -> None:
    trusted, honest = 0, []
    for seed in range(8):
        known = PLANTED["copies half, 4 classes"](np.random.default_rng([1, seed])).without_gold()
        verdicts = analysis.worker_verdicts(known.dataset, "majority-vote")
        pair = list(known.planted[COPIES])
        trusted += bool((verdicts.verdict[pair] == "trust").any())
        assert (verdicts.alike.partner[pair] == pair[::-1]).all() or verdicts.verdict[pair[0]] == "trust"
        honest.append((verdicts.verdict[known.honest] == "trust").mean())
    assert trusted <= 1 and np.mean(honest) > 0.8


@pytest.mark.parametrize("tasks", ["unequal", "unequal, foils"])
def test_hard_tasks_make_nobody_a_partner_by_gold(tasks: str) -> None:
    rng = np.random.default_rng(5)
    crowds = [unequal(PAIRS["39 workers, 200 × 39, 2 classes"], TASKS[tasks], rng) for _ in range(6)]
    assert sum(bool(named(crowd)) for crowd in crowds) <= 1


@pytest.mark.parametrize("design", ["39 workers, 200 × 39, 2 classes", "20 workers, 200 × 20, 8 classes"])
def test_able_workers_who_contradict_a_wrong_vote_are_not_accused(design: str) -> None:
    rng = np.random.default_rng(5)
    crowds = [unequal(PAIRS[design], TASKS["unequal, foils"], rng) for _ in range(6)]
    assert sum(analysis.worker_verdicts(crowd, "majority-vote").together.any() for crowd in crowds) <= 1


def test_several_who_copy_do_not_explain_each_other() -> None:
    crowd = replace(attacked_crowd(1, "copy", 5, 0.9, **ATTACKED["4 classes, sparse"]), gold=None)
    assert {r for pair in named(crowd, "majority-vote") for r in pair} == set(range(5))


def test_numbers_of_a_pair_are_literal_and_repeats_change_nothing() -> None:
    crowd = honest_crowd(3, n_tasks=60, n_workers=6)
    pairs = copying(crowd, resolve_reference(crowd, "gold"))
    for a, b, both, agreed in zip(pairs.worker_a, pairs.worker_b, pairs.both, pairs.agreed, strict=True):
        one, other = ({t: y for t, w, y in rows(crowd) if w == r} for r in (a, b))
        common = one.keys() & other.keys()
        assert (both, agreed) == (len(common), sum(one[t] == other[t] for t in common))
    again = replace(
        crowd,
        task=np.append(crowd.task, crowd.task[-1]),
        worker=np.append(crowd.worker, crowd.worker[-1]),
        label=np.append(crowd.label, 0),
        extra=None,
    )
    assert copying(again, resolve_reference(again, "gold")).p_value.tolist() == pairs.p_value.tolist()


def rows(crowd: CrowdDataset) -> list[tuple[int, int, int]]:
    return list(zip(crowd.task.tolist(), crowd.worker.tolist(), crowd.label.tolist(), strict=True))


def test_others_judge_tasks_without_gold() -> None:
    crowd = honest_crowd(3, n_tasks=400, per_task=6)
    partly = replace(crowd, gold=np.where(np.arange(400) % 5 == 0, crowd.gold, -1))
    all_gold, some_gold = (copying(one, resolve_reference(one, "gold")) for one in (crowd, partly))
    assert all_gold.checked and not some_gold.checked
    assert some_gold.usual <= 0.1
    assert (np.abs(some_gold.expected - all_gold.expected) / all_gold.both).mean() <= 0.05


def test_classes_may_be_renamed() -> None:
    crowd, classes = honest_crowd(4, n_tasks=80, n_workers=6), np.array([2, 0, 3, 1])
    renamed = replace(crowd, label=classes[crowd.label], gold=classes[crowd.gold])
    first, second = (copying(one, resolve_reference(one, "gold")).p_value for one in (crowd, renamed))
    assert first == pytest.approx(second, rel=1e-9)


def test_every_two_labels_of_a_task_are_a_pair_once() -> None:
    task, worker = np.array([0, 0, 0, 2, 3, 3], np.int32), np.array([2, 0, 1, 0, 1, 0], np.int32)
    label = np.array([0, 0, 1, 0, 1, 1], np.int32)
    _, (one, other), begin, agreed, common = common_labels(task, worker, label, 3, 4, least=1)
    assert list(zip(one.tolist(), other.tolist(), agreed.tolist(), strict=True)) == [(0, 1, 1), (0, 2, 1), (1, 2, 0)]
    assert [common[a:b].tolist() for a, b in pairwise(begin)] == [[[1, 2], [5, 4]], [[1, 0]], [[2, 0]]]
    assert common_labels(task, worker, label, 3, 4, least=2)[1][1].tolist() == [1]


def test_two_who_always_give_the_same_class_are_not_close_for_that() -> None:
    crowd = honest_crowd(1, n_classes=2, n_tasks=300, per_task=20, skill=(0.6, 0.95))
    label = np.where((crowd.worker < 2) & (crowd.task % 12 > 0), 1, crowd.label)
    given = np.zeros((crowd.n_workers, 2))
    np.add.at(given, (crowd.worker, label), 1)
    pairs = pair_mistakes(replace(crowd, label=label))
    p = closeness(pairs.worker_a, pairs.worker_b, pairs.both_labelled, pairs.agreed.astype(float), given)[1]
    assert p[(pairs.worker_a == 0) & (pairs.worker_b == 1)] > 0.05
    assert np.isnan(closeness(*(np.array([n]) for n in (0, 1, 9)), np.array([9.0]), given)).all()  # too few in common


SPARSE = ATTACKED["4 classes, sparse"]


@pytest.mark.parametrize("reference", ["gold", "majority-vote", "dawid-skene"])
@pytest.mark.parametrize("kind", ["4 classes, sparse", "2 classes, sparse"])
def test_copiers_are_one_group_and_nobody_else_is_in_it(kind: str, reference: str) -> None:
    crowd = attacked_crowd(3, "copy", 3, 1.0, **ATTACKED[kind])
    (group,) = analysis.coordinated_workers(crowd, reference).groups
    assert group.members.tolist() == [0, 1, 2]
    assert group.adjusted <= 0.05


@pytest.mark.parametrize("reference", ["gold", "majority-vote"])
@pytest.mark.parametrize("attack", ["push", "imitate"])
def test_who_makes_the_same_mistake_is_no_group_for_that(attack: str, reference: str) -> None:
    crowd = attacked_crowd(1, attack, 4, 0.9, **SPARSE)
    assert analysis.coordinated_workers(crowd, reference).groups == ()
    assert analysis.worker_verdicts(crowd, reference).guideline.cells.any() or attack == "imitate"


@pytest.mark.parametrize("reference", ["gold", "dawid-skene"])
def test_honest_crowds_are_left_alone(reference: str) -> None:
    crowds = [honest_crowd(11), honest_crowd(12, n_tasks=150, per_task=20, difficulty=2.0, foils=0.7)]
    for crowd in (*crowds, own_confusions(13), common_confusion(0)):
        groups = analysis.coordinated_workers(crowd, reference)
        assert groups.groups == ()
        assert groups.frame().empty and groups.changed_labels().empty


def test_two_groups_stay_two() -> None:
    crowd = simulate.copy_leader(honest_crowd(4, **SPARSE), [1], 0, 1.0, 4)
    crowd = simulate.copy_leader(crowd, [8], 7, 1.0, 5)
    members = [group.members.tolist() for group in analysis.coordinated_workers(crowd).groups]
    assert sorted(members) == [[0, 1], [7, 8]]


def test_what_changes_without_a_group_is_counted_literally() -> None:
    crowd = attacked_crowd(2, "copy", 4, 0.9, **SPARSE)
    (group,) = analysis.coordinated_workers(crowd).groups
    of, rest = group.influence, crowd.without_workers(group.members)
    before, after = (vote(one) for one in (crowd, rest))
    changed = [i for i in range(crowd.n_tasks) if after[i] >= 0 and before[i] != after[i]]
    assert of.changed.tolist() == changed
    assert of.become_right == sum(after[i] == crowd.gold[i] for i in changed) > 0
    assert of.become_wrong == sum(before[i] == crowd.gold[i] for i in changed)
    common, without = (shares(one) for one in (crowd, rest))
    assert of.common == pytest.approx(common)
    assert of.common_without == pytest.approx(without)
    assert of.row_difference == pytest.approx(np.abs(common - without).sum(1) / 2)
    a, b = group.pushed[0, :2].tolist()
    pushed = {task for task, worker, label in rows(crowd) if worker < 4 and label == b and crowd.gold[task] == a}
    assert group.pushed[0, 2] == len(pushed)


def vote(crowd: CrowdDataset) -> list[int]:
    """Majority vote, ties to the lowest class."""
    labels = [[0] * crowd.n_classes for _ in range(crowd.n_tasks)]
    for task, _, label in rows(crowd):
        labels[task][label] += 1
    return [counts.index(max(counts)) if any(counts) else -1 for counts in labels]


def shares(crowd: CrowdDataset) -> np.ndarray:
    counts = np.zeros((crowd.n_classes, crowd.n_classes))
    for task, _, label in rows(crowd):
        counts[crowd.gold[task], label] += 1
    return counts / counts.sum(1, keepdims=True)


def test_without_gold_nobody_says_what_becomes_right() -> None:
    crowd = replace(attacked_crowd(1, "copy", 3, 0.9, **SPARSE), gold=None)
    groups = analysis.coordinated_workers(crowd, "majority-vote")
    assert [group.members.tolist() for group in groups.groups] == [[0, 1, 2]]
    assert groups.frame()[["become right", "become wrong"]].isna().all(axis=None)
    assert any("not refitted" in note for note in groups.notes)


def test_workers_in_another_order_make_the_same_groups() -> None:
    crowd = attacked_crowd(6, "copy", 3, 0.9, **SPARSE)
    place = np.random.default_rng(0).permutation(crowd.n_workers)
    moved = replace(crowd, worker=place[crowd.worker], worker_ids=crowd.worker_ids[np.argsort(place)])
    first, second = (analysis.coordinated_workers(one).frame() for one in (crowd, moved))
    assert first.drop(columns=["p_value", "adjusted p"]).equals(second.drop(columns=["p_value", "adjusted p"]))
    assert first["p_value"].to_numpy() == pytest.approx(second["p_value"].to_numpy(), rel=1e-6)


def test_odd_crowds_are_no_trouble() -> None:
    crowd = honest_crowd(7, n_tasks=30, n_workers=3, per_task=2)
    for odd in (
        replace(crowd, classes=("only",), label=np.zeros_like(crowd.label), gold=np.zeros_like(crowd.gold)),
        replace(crowd, label=np.zeros_like(crowd.label)),
        crowd.where(crowd.worker == 0),
        replace(crowd, gold=np.where(np.arange(30) < 3, crowd.gold, -1)),
    ):
        for reference in ("gold", "majority-vote"):
            assert analysis.coordinated_workers(odd, reference).groups == ()


def test_more_than_half_of_a_crowd_is_no_group_and_the_notes_say_so() -> None:
    crowd = simulate.copy_leader(honest_crowd(4, n_tasks=400, n_workers=3, per_task=3), [1], 0, 1.0)
    groups = analysis.coordinated_workers(crowd)
    assert groups.groups == ()
    assert any("more than half" in note for note in groups.notes)


@pytest.mark.parametrize("name", ["labelme", "music"])
def test_the_real_crowds_hold_no_group(name: str, data_folder: Path) -> None:
    crowd = read_dataset(data_folder / name)
    for reference in ("gold", "majority-vote"):
        assert analysis.coordinated_workers(crowd, reference).groups == ()


def test_what_cannot_be_is_refused() -> None:
    crowd = honest_crowd(0, n_tasks=20)
    with pytest.raises(DataError, match="tags tokens"):
        analysis.coordinated_workers(simulate.tags(n_sentences=5, n_workers=4))
    with pytest.raises(SettingError, match=r"between.*0.*1"):
        analysis.coordinated_workers(crowd, level=0)
    with pytest.raises(DataError, match="no gold"):
        analysis.coordinated_workers(replace(crowd, gold=None), "gold")


@pytest.mark.parametrize(
    ("kind", "size", "rate", "least"),
    [
        ("4 classes, dense, foils", 5, 0.9, 0.8),
        ("4 classes, dense, foils", 3, 0.5, 0.8),
        ("2 classes, sparse", 2, 0.5, 0.5),
    ],
)
def test_copiers_are_found_without_gold(kind: str, size: int, rate: float, least: float) -> None:
    crowds = [attacked_crowd(s, "copy", size, rate, **ATTACKED[kind]) for s in range(5)]
    n_caught = [caught(analysis.coordinated_workers(crowd, "majority-vote"), size) for crowd in crowds]
    assert np.mean([share for share, _ in n_caught]) >= least
    assert not any(honest for _, honest in n_caught)


@pytest.mark.parametrize(("one", "other"), [(0, 1), (0, 2)])
def test_a_pair_is_held_against_the_enumeration_without_it(one: int, other: int) -> None:
    tasks, model = random_tasks()
    label = tasks[2].reshape(N_TASKS, N_WORKERS)
    agreed = alike = 0
    literal, least = np.zeros(5), max(0.06 / N_TASKS, 0.001 / C)
    for i in range(N_TASKS):
        both, p_one, p_other, classes = np.zeros(C), np.zeros(C), np.zeros(C), np.zeros(C)
        for p, z, d, foil in states(tasks, model, i, (one, other)):
            classes[z] += p
            for b in range(C):
                x, y = (chance(model, r, b, z, d, None if foil < 0 else foil) for r in (one, other))
                both[b], p_one[b], p_other[b] = both[b] + p * x * y, p_one[b] + p * x, p_other[b] + p * y
        both = np.maximum(both, least)
        ratio = np.log(0.5 + 0.5 * np.sqrt(np.maximum(p_one * p_other, both**2)) / both)
        values, shares = np.append(ratio, np.log(0.5)), np.append(both, 1 - both.sum())
        mean, equal = values @ shares, label[i, one] == label[i, other]
        likely = classes.argmax()
        agreed, alike = agreed + equal, alike + (equal and label[i, one] != likely)
        seen = ratio[label[i, one]] if equal else np.log(0.5)
        literal += (
            *(both.sum(), both.sum() - both[likely], seen - mean),
            *((shares * (values - mean) ** power).sum() for power in (2, 3)),
        )
    counts, moments = np.zeros((1, 3), np.int64), np.zeros((1, 5))
    by_worker, start = np.argsort(tasks[1], kind="stable"), np.arange(N_WORKERS + 1) * N_TASKS
    task = np.repeat(np.arange(N_TASKS), N_WORKERS)
    fill_pairs(0, 1, np.array([one]), np.array([other]), by_worker, start, task, tasks, model, counts, moments)
    assert counts[0].tolist() == [N_TASKS, agreed, alike]
    assert moments[0] == pytest.approx(literal, rel=1e-9)


def by_everybody(crowd: CrowdDataset) -> AgreementByOthers:
    one, other = np.triu_indices(crowd.n_workers, 1)
    return agreement_by_others(crowd, np.ones(crowd.n_workers, bool), one, other)


def test_names_and_repeats_change_nothing() -> None:
    crowd = honest_crowd(3, n_tasks=60, n_workers=6, foils=0.5)
    everybody = by_everybody(crowd)
    classes = np.array([2, 0, 3, 1])
    renamed = by_everybody(replace(crowd, label=classes[crowd.label]))
    assert renamed.p_value == pytest.approx(everybody.p_value, rel=1e-6)
    assert renamed.alike.tolist() == everybody.alike.tolist()
    again = replace(
        crowd,
        task=np.append(crowd.task, 59),
        worker=np.append(crowd.worker, crowd.worker[-1]),
        extra=None,
        label=np.append(crowd.label, 0),
    )
    assert by_everybody(again).p_value.tolist() == everybody.p_value.tolist()

"""Exhibits of what runs recovered: numbers are the library's, names are escaped once and hidden where asked."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from crowdcore import analysis
from crowdcore.data.dataset import CrowdDataset
from crowdcore.exhibits import Exhibit, confusions, omega, shared, view, worker_skills
from crowdcore.exhibits.recovered import RunView, contradicted_tasks, of_run, recovered, seeds
from crowdcore.learning.results.counts import worker_counts
from testkit.crowds import simulate_crowd
from testkit.recorded_runs import invented


@pytest.fixture
def crowd() -> CrowdDataset:
    made = simulate_crowd()
    workers = pd.Index(["<b>Q&A", *made.worker_ids[1:]])
    return replace(made, classes=("R&D", *made.classes[1:]), worker_ids=workers)


@pytest.fixture
def run(crowd: CrowdDataset) -> RunView:
    return of_run(view(crowd), invented(crowd, "conal"))


def everything(run: RunView) -> list[Exhibit]:
    found = [
        *(confusions.confusion_grid(run, who) for who in (-1, 0)),
        *(confusions.recovered_confusion(run, who) for who in (-1, 0)),
        *(confusions.recovered_confusion(run, who, "observed") for who in (-1, 0)),
        *(confusions.confusion_difference(run, who) for who in (-1, 0)),
        confusions.largest_confusions(run),
        confusions.every_confusion(run),
        worker_skills.skills([run]),
        worker_skills.recovered_workers(run),
        contradicted_tasks(run),
        omega.omega_ranking(run),
        omega.omega_halves(run),
        omega.omega_spread(run, "class"),
        omega.omega_spread(run, "worker"),
        omega.omega_tasks(run),
        shared.shared_part(run),
        *shared.explained(run),
        shared.omega_labels(run),
    ]
    return [exhibit for exhibit in found if exhibit is not None]


def test_names_are_escaped_once(run: RunView) -> None:
    drawn = "\n".join(shown.figure.to_json() for shown in everything(run) if shown.figure is not None)
    assert "R&amp;D" in drawn or "R\\u0026amp;D" in drawn
    assert "&lt;b&gt;Q&amp;A" in drawn or "Q\\u0026amp;A" in drawn
    assert "amp;amp" not in drawn
    assert "<b>Q" not in drawn


def test_tables_hold_names_as_they_are_and_pseudonyms_where_names_are_hidden(run: RunView) -> None:
    plain = "\n".join(shown.table.to_csv() + "".join(shown.notes) for shown in everything(run))
    assert "R&D" in plain
    assert "<b>Q&A" in plain
    assert "&amp;" not in plain
    hidden = "\n".join(
        shown.table.to_csv() + shown.title + shown.alt + (shown.figure.to_json() if shown.figure is not None else "")
        for shown in everything(replace(run, hidden=True))
    )
    assert "Q&A" not in hidden
    assert "Q&amp;A" not in hidden
    assert "w001" not in hidden


def test_without_truth_the_difference_is_to_the_labels(run: RunView) -> None:
    shown = confusions.confusion_difference(run, 3)
    assert shown is not None
    expected = recovered(run).matrices[3] - analysis.worker_confusion(run.dataset).matrices[3]
    np.testing.assert_allclose(shown.table["difference"].to_numpy().reshape(4, 4), expected, atol=1e-12)
    assert shown.click is not None
    assert shown.click(1, 2) == {"true": run.classes[1], "given": run.classes[2]}


def test_the_shared_part_stands_beside_the_common_confusion_with_an_interval(run: RunView) -> None:
    shown = shared.shared_part(run)
    assert shown is not None and shown.figure is not None
    counts = worker_counts(run.result, run.dataset)
    found = analysis.shared_part(run.dataset, counts, seeds=run.result.seeds)
    table = shown.table
    assert (table["low"] <= table["share"]).all() and (table["share"] <= table["high"]).all()
    assert table["share"].tolist() == sorted(table["share"], reverse=True)
    true, given = (table[column].map(run.classes.index) for column in ("true", "given"))
    np.testing.assert_allclose(table["share"], found.share[true, given])
    np.testing.assert_allclose(table["common"], run.result.common_confusion.mean(0)[true, given])
    np.testing.assert_allclose(shown.figure.data[0].z[0, 1], found.share[0, 1])
    trace = shared.shared_part(of_run(run, invented(run.dataset, "trace")))
    assert trace is not None, "what is shared is determined for methods without a common confusion, too"
    assert "observed share" in trace.table


def test_the_shared_part_stands_beside_all_labels_of_each_class_and_the_rest_of_them(run: RunView) -> None:
    shown, part = shared.explained(run), shared.shared_part(run)
    assert part is not None
    right, seen = np.eye(len(run.classes), dtype=bool), analysis.worker_confusion(run.dataset, "gold").crowd
    labels, explained, rest = (np.array(one.figure.data[0].z, float) for one in shown)
    np.testing.assert_allclose(labels, np.where(right, np.nan, seen), atol=1e-6)
    np.testing.assert_allclose(rest, labels - explained, atol=1e-6)
    assert shown[0].figure.layout.coloraxis.cmax == shown[1].figure.layout.coloraxis.cmax
    true, given = (part.table[column].map(run.classes.index) for column in ("true", "given"))
    np.testing.assert_allclose(part.table["observed share"], seen[true, given])
    assert shown[2].click is not None and shown[2].click(0, 1)["given"] == run.classes[1]


def test_it_is_said_where_a_high_omega_goes_with_right_labels(run: RunView) -> None:
    right = run.dataset.label == run.dataset.gold[run.dataset.task]
    omega_of_right = np.tile(0.2 + 0.6 * right, (len(run.result.seeds), 1))
    misled = of_run(run, replace(run.result, omega=omega_of_right))
    assert "A high ω goes with right labels" in shared.omega_labels(misled).notes[0]
    assert "A high ω goes with right labels" in omega.numbers(misled).words
    assert "A high ω goes with right labels" in omega.omega_ranking(misled).notes[0]


def test_views_of_seeds(run: RunView) -> None:
    assert list(seeds(run)) == [None, "each", 0, 1, 2]
    assert [one.shown_seed for one in replace(run, seed="each").one_by_one()] == [0, 1, 2]
    assert replace(run, seed=1).one_by_one()[0].shown_seed == 1
    assert of_run(run, run.result, at=7).at == "selected", "nothing is kept of epoch 7"


def test_tasks_behind_a_cell(run: RunView) -> None:
    behind = confusions.tasks_behind(run, 1, 2)
    assert set(behind) == set(analysis.mistake_cell(run.dataset, "gold", 1, 2).tasks)
    assert set(confusions.tasks_behind(run, 1, 2, 3)) <= set(behind)


def test_skills_of_several_runs_are_told_run_by_run(run: RunView) -> None:
    other = of_run(run, invented(run.dataset, "trace"))
    shown = worker_skills.skills([run, other])
    assert set(shown.table["run"]) == {"conal", "trace"}
    assert len(shown.notes) == 2
    one = shown.table.query("run == 'trace'")
    counted = [analysis.confusion_of_counts(one) for one in worker_counts(other.result, run.dataset)]
    expected = analysis.skill_comparison(
        analysis.worker_confusion(run.dataset), np.stack(counted), seeds=other.result.seeds
    )
    np.testing.assert_allclose(one["learned_skill"], expected.learned)


@pytest.mark.parametrize("given", ["q", "probabilities"])
def test_contradicted_tasks_are_those_with_a_class_of_no_worker(run: RunView, given: str) -> None:
    dataset, result = run.dataset, run.result
    train = result.split == 0
    q = np.random.default_rng(5).dirichlet(np.full(dataset.n_classes, 0.3), (len(result.seeds), int(train.sum())))
    result = replace(result, q=q) if given == "q" else result
    exhibit = contradicted_tasks(of_run(run, result, seed=1))
    of = dict(zip(result.task.tolist(), (q if given == "q" else result.probabilities["selected"])[1], strict=False))
    expected = {}
    for task, p in of.items():
        labels = set(dataset.label[dataset.task == task].tolist())
        if labels and int(p.argmax()) not in labels:
            expected[task] = p.max()
    found = exhibit.table["probability"]
    assert len(expected) > 3
    assert set(found.index) == set(expected)
    assert found.tolist() == sorted(map(float, expected.values()), reverse=True)
    agreeing = (exhibit.table["class by the run"] == exhibit.table["gold"]).sum()
    assert f"agrees with the run on {agreeing} " in exhibit.notes[1]

"""Exhibits of runs: training, planted confusions, and their recovery."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from crowdcore import analysis
from crowdcore.core.errors import DataError
from crowdcore.data import simulate
from crowdcore.data.dataset import CrowdDataset
from crowdcore.exhibits import (
    Exhibit,
    comparison,
    confusions,
    differences,
    mistakes,
    omega,
    planted,
    shared,
    view,
    worker_skills,
)
from crowdcore.exhibits.comparison import candidates
from crowdcore.exhibits.glossary import meaning
from crowdcore.exhibits.planted import matrices, study_errors
from crowdcore.exhibits.recovered import RunView, contradicted_tasks, of_run, recovered, seeds
from crowdcore.learning.recovery.plan import RecoveryPlan, plant
from crowdcore.learning.recovery.study import assembled, bounds, judge, spelled
from crowdcore.learning.results.predictions import worker_counts
from testkit.crowds import simulate_crowd
from testkit.recorded_runs import invented
from tests.learning.helpers import featured_crowd
from tests.learning.made_up import made_up
from tests.rated_crowd import rated_crowd


@pytest.fixture(scope="module")
def crowd() -> CrowdDataset:
    made = simulate_crowd()
    workers = pd.Index(["<b>Q&A", *made.worker_ids[1:]])
    return replace(made, classes=("R&D", *made.classes[1:]), worker_ids=workers)


@pytest.fixture(scope="module")
def run(crowd: CrowdDataset) -> RunView:
    return of_run(view(crowd), invented(crowd, "conal"))


def everything(run: RunView) -> list[Exhibit]:
    grids = [
        *(confusions.confusion_grid(run, worker) for worker in (-1, 0)),
        *(confusions.recovered_confusion(run, worker) for worker in (-1, 0)),
        *(confusions.recovered_confusion(run, worker, "observed") for worker in (-1, 0)),
        *(confusions.confusion_difference(run, worker) for worker in (-1, 0)),
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
    return [exhibit for exhibit in grids if exhibit is not None]


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
    part = analysis.shared_part(run.dataset, counts, seeds=run.result.seeds)
    table = shown.table
    assert (table["low"] <= table["share"]).all() and (table["share"] <= table["high"]).all()
    assert table["share"].tolist() == sorted(table["share"], reverse=True)
    true, given = (table[column].map(run.classes.index) for column in ("true", "given"))
    np.testing.assert_allclose(table["share"], part.share[true, given])
    np.testing.assert_allclose(table["common"], run.result.common_confusion.mean(0)[true, given])
    np.testing.assert_allclose(shown.figure.data[0].z[0, 1], part.share[0, 1])
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
    notes = shared.omega_labels(misled).notes, omega.omega_ranking(misled).notes
    assert all("goes with right labels" in word for word in (omega.numbers(misled).words, *(note[0] for note in notes)))


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
    probability = exhibit.table["probability"]
    assert len(expected) > 3
    assert set(probability.index) == set(expected)
    assert probability.tolist() == sorted(map(float, expected.values()), reverse=True)
    agreeing = (exhibit.table["class by the run"] == exhibit.table["gold"]).sum()
    assert f" on {agreeing} " in exhibit.notes[1]


def test_curves_of_runs_that_go_on() -> None:
    curve = pd.DataFrame({"epoch": [2, 1], "mean": [0.6, 0.5], "std": [0.1, np.nan]})
    runs = [comparison.Measured(f"<b>{method}", method, curve, 2) for method in ("conal", "trace")]
    shown = comparison.training_curves(runs, "test_accuracy", axes=("log_epochs",), until=40)
    assert shown.figure.layout.xaxis.type == "log"
    assert shown.alt.startswith("Accuracy, test by epoch")
    assert {trace.name for trace in shown.figure.data if trace.name} >= {"&lt;b&gt;conal", "&lt;b&gt;trace"}
    assert set(shown.table["run"]) == {"<b>conal", "<b>trace"}


def test_a_search_without_importances_has_no_figure_of_them() -> None:
    assert comparison.search_importance({}, "conal") is None
    shown = comparison.search_importance({"lr": 0.75, "embedding": 0.25}, "conal")
    assert shown.table.to_numpy().tolist() == [["lr", 0.75], ["embedding", 0.25]]


@pytest.mark.parametrize(("n_classes", "matrices"), [(3, 3), (8, 2)])
def test_a_planted_crowd_shows_what_generated_its_labels(n_classes: int, matrices: int) -> None:
    trained_on = simulate.synthetic(n_tasks=200, n_valid=20, n_test=20, n_workers=4, n_classes=n_classes)
    shown = planted.planted_crowd(trained_on)
    assert shown.notes[0] == analysis.planted(trained_on).sentence
    assert len(shown.figure.layout.annotations) >= matrices
    assert list(planted.matrix_kinds(trained_on)) == ["common", "effective", "own"]
    assert planted.matrix_kinds(replace(trained_on, truth=None)) == {}
    assert planted.planted_and_learnt(trained_on, {}, "common") is None


def test_tasks_on_which_results_differ() -> None:
    trained_on = featured_crowd(200)
    results = {"<b>one": made_up(trained_on, "conal"), "other": made_up(trained_on, "trace", draw=1)}
    shown = differences.prediction_differences(results, trained_on, "test")
    assert "&lt;b&gt;one" in str(shown.figure.to_plotly_json())
    pair = differences.differing_predictions(results, trained_on, "<b>one", "other", "test")
    of = shown.table.query("first == '<b>one' and second == 'other'")
    assert len(pair.table) == of["differ"].item()
    assert shown.click(1, 2) == {"first": "<b>one", "second": "other"}
    against = differences.differing_predictions(results, trained_on, "gold", "other", "test").table
    assert "first_probability" not in against and "gold" not in against


@pytest.fixture(scope="module")
def trained_on():
    return featured_crowd(200)


def test_candidates_of_a_method_that_chooses(trained_on):
    tried = [
        {"candidate": "dl-em", "accuracy": None, "likelihood": -1.5, "weight": 0.8, "chosen_in": 0.75},
        {"candidate": "conal", "accuracy": None, "likelihood": -2.0, "weight": 0.2, "chosen_in": 0.25},
    ]
    results = {"auto": replace(made_up(trained_on, "dl-em"), tried=tuple(tried)), "trace": made_up(trained_on, "trace")}
    table = candidates(results).table
    assert table["likeliest in %"].tolist() == [75, 25]
    assert table["weight in the mean"].tolist() == [0.8, 0.2]
    assert table["candidate"].tolist() == ["dl-em", "conal"]
    assert "validation %" not in table, "no gold validated"
    assert candidates({"trace": results["trace"]}) is None


def test_a_result_that_an_earlier_version_wrote_has_no_weights(trained_on):
    tried = ({"candidate": "dl-em", "accuracy": 0.9, "likelihood": -1.5, "chosen_in": 1.0},)
    table = candidates({"auto": replace(made_up(trained_on, "dl-em"), tried=tried)}).table
    assert "weight in the mean" not in table


SMALL = {"n_tasks": 120, "n_valid": 20, "n_test": 20, "n_workers": 4, "n_classes": 3}


def made_up_table(**over):
    plan = RecoveryPlan(settings=SMALL, over=over)
    rows = []
    for point in plan.points():
        trained_on, head = plant(plan, point), {**spelled(point.varied), "crowd": 0}
        rows.append(bounds(trained_on).assign(**head))
        rows += [
            judge(made_up(trained_on, method), trained_on).assign(method=f"<b>{method}", seconds=1.0, **head)
            for method in ("conal", "crowd-layer")
        ]
    return assembled(rows, list(spelled(plan.over)))


METHODS = {"<b>conal": "conal", "<b>crowd-layer": "crowd-layer"}


def test_one_crowd_is_drawn_method_by_method() -> None:
    shown = study_errors(made_up_table(), [], METHODS)
    assert [axis for axis in shown.figure.layout.to_plotly_json() if axis.startswith("xaxis")] == [
        "xaxis", "xaxis2", "xaxis3", "xaxis4",
    ]  # fmt: skip
    assert shown.figure.layout.yaxis.ticktext == ("&lt;b&gt;conal", "&lt;b&gt;crowd-layer")
    assert shown.table["method"].tolist() == ["<b>conal", "<b>crowd-layer", "identity", "counted with gold"]


@pytest.mark.parametrize(
    ("over", "x", "heads"),
    [
        ({"common_strength": [0.2, 0.6]}, "common strength", 0),
        ({"common_strength": [0.2, 0.6], "pattern": ["asymmetric", "symmetric"]}, "common strength", 2),
        ({"pattern": ["asymmetric", "symmetric"]}, "pattern", 0),
        ({"pattern": ["asymmetric", "symmetric"], "per_task": [2, 3], "proportion": [0.2, 0.5]}, "proportion", 4),
    ],
)
def test_what_varies_becomes_the_axis(over: dict, x: str, heads: int) -> None:
    shown = study_errors(made_up_table(**over), [name.replace("_", " ") for name in over], METHODS)
    titles = {axis.title.text for axis in shown.figure.select_xaxes()} - {None}
    assert titles == {x}
    assert len(shown.figure.layout.annotations) == heads
    assert len(shown.table) == 4 * np.prod([len(v) for v in over.values()])


def test_matrices_stand_beside_the_planted_one_with_their_error() -> None:
    truth = np.array([[0.8, 0.2], [0.4, 0.6]])
    off = np.array([[0.1, -0.1], [0, 0]])
    learnt = np.stack([truth + off, truth - off])
    shown = matrices("Common confusion", truth, {"conal": learnt}, ["a", "b"])
    assert shown.table["conal"].tolist() == pytest.approx(truth.ravel().tolist())
    assert any("error 0.010" in a.text for a in shown.figure.layout.annotations)
    assert shown.table[["true", "given"]].to_numpy().tolist() == [["a", "a"], ["a", "b"], ["b", "a"], ["b", "b"]]


def test_biases_of_ratings_are_recovered_and_what_all_share_with_some_gold_only() -> None:
    crowd = simulate.ratings(per_task=8)
    table = planted.rating_recovery(crowd).table.set_index("method")
    assert (table["own bias error"] < 0.2).all()
    assert (table.loc[["mean", "median", "raykar-em"], "shared bias error"] > 0.4).all()
    assert table.loc["raykar-em gold=20%", ["truth error", "bias error", "shared bias error"]].max() < 0.5
    assert table.loc["raykar-em gold=20%", "shared bias error"] < 0.2
    assert table.loc["gold", "truth error"] == 0
    assert not [c for c in (*table, *planted.planted_ratings(crowd).table) if not meaning(c)]
    rows = planted.recovered_biases(crowd, "raykar-em gold=20%").table
    np.testing.assert_allclose(rows["bias"], rows["planted bias"], atol=0.6)
    assert rows["role"].tolist()[-2:] == ["spammer", "copier of w01"]
    assert not [c for c in rows if not meaning(c)]
    assert rows["errs like"].iloc[-1] == "w01" and rows["error correlation"].iloc[-1] > 0.8
    assert rows["spread"].idxmax() == len(rows) - 2
    shared = planted.recovered_shared_bias(crowd, "gold")
    np.testing.assert_allclose(shared.table["bias"], shared.table["planted bias"], atol=0.5)
    assert [trace.name for trace in shared.figure.data][:2] == ["smoothed", "planted"]


def test_without_planted_biases_nothing_correlates_with_them() -> None:
    crowd = simulate.ratings(bias_sd=0, scale_sd=0, shared_low=0.3, shared_high=0.3, spammers=0, copiers=0)
    subtitle = planted.recovered_biases(crowd, "mean").figure.layout.title.subtitle.text
    assert "workers with" in subtitle
    assert "r =" not in subtitle


def test_what_was_planted_must_be_known() -> None:
    with pytest.raises(DataError, match="is not known"):
        planted.rating_recovery(rated_crowd()[0])


def test_aggregators_of_sequences_recover_the_kinds_of_errors() -> None:
    seen = view(simulate.spans())
    compared = ("majority-vote", "hmm-crowd", "gold")
    table = planted.tag_recovery(seen, compared).table.set_index("method")
    assert table.loc["gold"].tolist() == [1, 0, 0, 0, 0, 0]
    assert table.loc["hmm-crowd", "f1"] > table.loc["majority-vote", "f1"] + 0.05
    errors = table.columns.drop("f1")
    assert (table.loc["hmm-crowd", errors] < table.loc["majority-vote", errors] + 0.01).all()
    assert not [c for c in table if not meaning(c)]
    rates = planted.recovered_errors(seen, "hmm-crowd").table.set_index("worker")
    assert not [c for c in rates if not meaning(c)]
    assert rates.loc["w8", "role"] == "misses spans"
    np.testing.assert_allclose(rates["missed %, recovered"], rates["missed %"], atol=5)
    figure = planted.recovered_tags(seen, "gold", "w1").figure
    assert [a.text for a in figure.layout.annotations if "error" in a.text][-1] == "<b>gold<br>error 0.000</b>"


def test_the_figure_of_types_is_called_as_its_page_calls_it() -> None:
    shown = mistakes.span_types(view(simulate.spans()))
    assert shown.figure is not None
    assert shown.figure.layout.title.text == shown.title == "Types confused with others"

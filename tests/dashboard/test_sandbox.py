"""The page Sandbox in-process, of classes, ratings and tags: it plants and trains as the library does."""

from __future__ import annotations

import io
import os
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

import crowdcore as cc
from crowdcore import analysis, exhibits, runs
from crowdcore.analysis.workers.confusion import confusion_of_counts
from crowdcore.core.errors import CrowdError
from crowdcore.core.spelling import read_values, spell_settings
from crowdcore.data import simulate, write_folder
from crowdcore.learning import tagged_spans, train_ratings
from crowdcore.learning.recovery.plan import preset, usual_settings
from crowdcore.learning.recovery.study import judge, true_effective
from crowdcore.learning.results.predictions import worker_counts
from dashboard.services import opening, sandbox
from dashboard.services.sandbox import read_crowd, read_tasks, read_vary, spell_crowd, spell_tasks
from testkit.crowds import simulate_crowd
from testkit.recorded_runs import record
from tests.dashboard.app_page import button, field, open_page, table, words
from tests.learning.made_up import made_up
from tests.rated_crowd import rated_folder

SMALL = {"n_tasks": 300, "n_valid": 50, "n_test": 50, "n_workers": 6, "n_classes": 3}
LINE = spell_crowd("synthetic", SMALL)

pytestmark = pytest.mark.usefixtures("trainable_crowd")


def page(**address: str | list[str]) -> AppTest:
    return open_page("sandbox", **{"dataset": "crowd", **address})


def said(test: AppTest, key: str) -> str:
    """The only value of a key of the address."""
    value = test.query_params[key]
    return value if isinstance(value, str) else value[0]


@pytest.mark.parametrize("line", ["synthetic", "conal"])
def test_labels_that_screen_readers_read_hold_no_backslashes(line: str) -> None:
    test = page(crowd=line)
    fields = (*test.number_input, *test.selectbox, *test.multiselect, *test.text_input, *test.toggle)
    assert len(fields) > 5
    assert not [field.label for field in fields if "\\" in field.label]


def test_it_shows_what_would_be_planted() -> None:
    test = page(crowd=LINE)
    plants = analysis.planted(simulate.synthetic(**SMALL))
    shown = {m.label: m.value for m in test.metric}
    assert shown["Right labels"] == f"{100 * plants.right:.1f} %"
    assert shown["Right votes"] == f"{100 * plants.majority:.1f} %"
    assert plants.sentence in words(test)
    assert "planted yet" in words(test)
    assert "strength .7" in words(test) and "ω spread 4" in words(test)


def test_planted_crowds_are_datasets_and_training_starts_ordinary_runs(workspace: Path) -> None:
    test = page(crowd=LINE, vary="common_strength=[0.2,0.8]")
    button(test, "Plant 2 crowds").click().run()
    assert not test.exception
    names = test.query_params["planted"]
    for name, strength in zip(names, (0.2, 0.8), strict=True):
        kept = cc.read_dataset(workspace / "datasets" / name)
        assert kept.fingerprint == simulate.synthetic(**SMALL, common_strength=strength).fingerprint
        assert kept.truth is not None and kept.truth.settings["common_strength"] == strength
        assert name.endswith(kept.fingerprint[:10])
    field(test, "Methods").set_value(["conal start=best-of", "dl-mv"]).run()
    for _ in range(20):  # the estimate is found out beside the page
        if "About" in words(test):
            break
        test.run()
    assert "About **4 min** in all" in words(test)  # 2 crowds × 2 methods × 61 s
    button(test, "Start 4 runs").click().run()
    assert not test.exception
    started = {(Path(r.spec.dataset).name, r.spec.method): r.spec for r in runs.list_runs()}
    assert set(started) == {(name, method) for name in names for method in ("conal", "dl-mv")}
    spec = started[names[0], "conal"]
    assert spec.settings["start"] == "best-of"
    assert (spec.settings["epochs"], spec.settings["names"]) == (50, "validation-gold")
    assert spec.fingerprint == cc.read_dataset(workspace / "datasets" / names[0]).fingerprint
    assert "Who recovered what" in words(test)
    assert button(test, "Cancel all")


def planted(*lines: str) -> list[str]:
    return sandbox.plant("crowd", sandbox.plan("crowd", LINE, list(lines), "", 1))


def recorded(workspace: Path, *lines: str) -> tuple[list[str], dict]:
    """Planted crowds with two finished runs each."""
    names = planted(*lines)
    results = {}
    for name in names:
        folder = workspace / "datasets" / name
        crowd = cc.read_dataset(folder)
        for method in ("conal", "crowd-layer"):
            results[name, method] = replace(made_up(crowd, method), dataset=str(folder.resolve()))
            record(workspace, results[name, method], crowd)
    return names, results


def test_a_page_loaded_again_shows_runs_recorded_a_moment_ago(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    slow = st.cache_resource(ttl=3600.0)(lambda which: tuple(runs.list_runs(dataset=which)))
    monkeypatch.setattr("dashboard.services.runs._list_runs", slow)
    [name] = planted()
    assert "Who recovered what" not in words(page(planted=name))
    recorded(workspace)
    assert "Who recovered what" in words(page(planted=name))


def test_the_table_holds_the_measures_of_every_crowd_and_method(workspace: Path) -> None:
    names, results = recorded(workspace, "common_strength=[0.2,0.8]")
    test = page(crowd=LINE, planted=names)
    frame = next(f.value for f in test.dataframe if "effective error" in f.value.columns)
    assert frame["method"].tolist() == ["conal", "crowd-layer", "identity", "counted with gold"] * 2
    for name, strength in zip(names, (0.2, 0.8), strict=True):
        crowd = cc.read_dataset(workspace / "datasets" / name)
        rows = frame[frame["common strength"] == strength].set_index("method")
        for method in ("conal", "crowd-layer"):
            expected = judge(results[name, method], crowd)
            for measure in ("common error", "own error", "effective error", "ω correlation"):
                assert rows.loc[method, measure] == pytest.approx(expected[measure].mean(), nan_ok=True)
            assert rows.loc[method, "accuracy"] == pytest.approx(100 * expected["accuracy"].mean())


def test_crowds_that_stand_together_are_called_by_what_sets_them_apart() -> None:
    plan = sandbox.plan("crowd", LINE, ["pattern=[%22asymmetric%22,%22symmetric%22]"], "", 1)
    names = sandbox.plant("crowd", plan)
    assert list(sandbox.crowd_words(names).values()) == ["pattern asymmetric", "pattern symmetric"]
    alike = sandbox.plant("crowd", sandbox.plan("crowd", LINE, [], "", 2))
    assert list(sandbox.crowd_words(alike).values()) == ["crowd, seed 0", "crowd, seed 1"]
    assert list(sandbox.crowd_words(names[:1]).values()) == names[:1]


def test_the_planted_matrix_stands_beside_the_learnt_ones(workspace: Path) -> None:
    [name], results = recorded(workspace)
    crowd = cc.read_dataset(workspace / "datasets" / name)
    learners = {method: result for (_, method), result in results.items()}
    shown = exhibits.planted.planted_and_learnt(crowd, learners, "common", 0)
    assert shown.table["planted"].tolist() == pytest.approx(crowd.truth.common_confusion.ravel().tolist())
    learnt = results[name, "conal"].common_confusion
    assert shown.table["conal"].tolist() == pytest.approx(learnt.mean(0).ravel().tolist())
    assert "crowd-layer" not in shown.table
    shown = exhibits.planted.planted_and_learnt(crowd, learners, "effective", 2)
    assert shown.table["planted"].tolist() == pytest.approx(true_effective(crowd)[2].ravel().tolist())
    of_seeds = worker_counts(results[name, "crowd-layer"], crowd)
    own = np.mean([confusion_of_counts(counts)[2] for counts in of_seeds], 0)
    assert shown.table["crowd-layer"].tolist() == pytest.approx(own.ravel().tolist())


def test_a_planted_crowd_leaves_as_files_with_its_truth(workspace: Path) -> None:
    [name] = sandbox.plant("crowd", sandbox.plan("crowd", LINE, [], "", 1))
    with zipfile.ZipFile(io.BytesIO(sandbox.archive(name))) as packed:
        assert {f"{name}/truth.npz", f"{name}/annotations.parquet"} <= set(packed.namelist())
    with pytest.raises(CrowdError):
        sandbox.archive("../..")


def test_planting_on_given_tasks_names_the_dataset_and_refuses_without_gold(tmp_path: Path) -> None:
    test = page(crowd="conal")
    assert "gold of **crowd**" in words(test)
    crowd = simulate_crowd()
    nothing = replace(crowd, gold=np.full(crowd.n_tasks, -1), name="goldless")
    write_folder(nothing, tmp_path / "found" / "goldless")
    bare = page(dataset="goldless", crowd="conal")
    assert "goldless has no" in words(bare)
    assert not [b for b in bare.button if b.label.startswith("Plant")]


@pytest.mark.parametrize(
    ("address", "words_said"),
    [
        ({"crowd": "conel"}, "Did you mean 'conal'"),
        ({"crowd": "synthetic common_strength=7"}, "common_strength"),
        ({"crowd": "ccc"}, "made for ten"),
        ({"crowd": "synthetic n_tasks=300"}, "exceed n_valid"),
        ({"crowd": "synthetic n_tasks=900000000"}, "`crowdcore simulate` plants larger crowds"),
        ({"crowd": "conal", "tasks": "tasks n_train=many"}, "n_train"),
        ({"planted": "gone"}, "1 planted crowd in this link cannot be found"),
    ],
)
def test_what_an_address_asks_in_vain_is_said_in_one_sentence(address: dict, words_said: str) -> None:
    assert words_said in words(page(**address))


def test_a_preset_fills_in_the_form() -> None:
    test = page()
    next(b for b in test.button if b.label == "Recovery").click().run()
    assert not test.exception
    plan = preset("recovery")
    assert read_crowd(said(test, "crowd")) == ("synthetic", plan.settings)
    assert read_vary(test.query_params["vary"]) == {k: list(v) for k, v in plan.over.items()}
    assert button(test, "Plant 4 crowds")


def test_a_preset_on_data_that_is_not_here_says_so() -> None:
    test = page()
    next(b for b in test.button if b.label == "Flippers").click().run()
    assert "plants on mnist" in words(test)


def test_lines_of_the_address_read_back() -> None:
    varied = {"pattern": ["asymmetric", "symmetric"]}
    assert read_vary([spell_settings(varied)]) == varied
    assert read_values("0.4, 0.7,x") == [0.4, 0.7, "x"]
    assert read_tasks(spell_tasks({"classes": ["a b", "ü"]})) == {"classes": ["a b", "ü"]}
    with pytest.raises(CrowdError):
        sandbox.plan("crowd", "synthetic", ["common_strength=[2]"], "", 1)


RATINGS = "ratings n_tasks=200 n_valid=20 n_test=30 n_workers=8"
SPANS = "spans n_sentences=60 n_workers=4"


def test_ratings_are_planted_on_a_dataset_of_ratings_and_recovered_at_once(workspace: Path) -> None:
    rated_folder(Path(os.environ["CROWDCORE_DATA"]) / "rated")
    assert field(open_page("sandbox", dataset="rated"), "Simulator").value == "ratings"
    test = open_page("sandbox", dataset="rated", crowd=RATINGS)
    assert not test.error
    crowd = simulate.ratings(n_tasks=200, n_valid=20, n_test=30, n_workers=8)
    assert {m.label: m.value for m in test.metric}["Ratings"] == f"{crowd.n_annotations:,}"
    expected = exhibits.planted.rating_recovery(crowd).table
    shown = table(test, "own bias error").set_index("method")
    assert shown["bias error"].tolist() == pytest.approx(expected["bias error"].tolist())
    field(test, "As recovered by").set_value("mean").run()
    assert test.query_params["by"] in ("mean", ["mean"])
    assert table(test, "errs like").iloc[-1]["errs like"] == "w1"
    button(test, "Plant 1 crowd").click().run()
    name = "".join(test.query_params["planted"])
    kept = cc.read_ratings(workspace / "datasets" / name)
    assert kept.fingerprint == crowd.fingerprint
    assert kept.truth is not None and kept.truth.worker_role == crowd.truth.worker_role
    assert field(test, "Methods").value == ["crowd-layer"]
    assert button(test, "Start 1 run")


def test_runs_on_planted_ratings_are_compared_by_their_errors(workspace: Path) -> None:
    [name] = sandbox.plant("crowd", sandbox.plan("crowd", RATINGS, [], "", 1))
    folder = workspace / "datasets" / name
    crowd = cc.read_ratings(folder)
    result = train_ratings(crowd, "dl-mean", seeds=1, epochs=1, device="cpu")
    record(workspace, replace(result, dataset=str(folder.resolve())), crowd)
    test = open_page("sandbox", dataset="crowd", crowd=RATINGS, planted=name)
    assert "Who recovered what" in words(test)
    assert table(test, "RMSE")["run"].tolist() == ["dl-mean"] * 3
    errors = sandbox.errors([name])
    assert errors is not None and errors.table["RMSE"].iloc[0] == pytest.approx(result.score("rmse").mean())


def test_a_dataset_of_ratings_has_no_classes_to_plant_on() -> None:
    rated_folder(Path(os.environ["CROWDCORE_DATA"]) / "rated")
    test = open_page("sandbox", dataset="rated", crowd="conal")
    assert "rated has ratings" in words(test)
    assert field(test, "Simulator").value == "ratings"


def test_spans_are_planted_and_aggregators_of_sequences_recover_their_errors() -> None:
    write_folder(simulate.tags(n_sentences=20, n_workers=4), Path(os.environ["CROWDCORE_DATA"]) / "tagged")
    test = open_page("sandbox", dataset="tagged", crowd=SPANS, whose="w2")
    assert not test.error
    assert field(test, "Simulator").value == "spans" and field(test, "Tags of").value == "w2"
    seen = exhibits.view(simulate.spans(n_sentences=60, n_workers=4))
    shown = table(test, "missed error")
    expected = exhibits.planted.tag_recovery(seen).table
    assert shown["method"].tolist() == expected["method"].tolist()
    assert shown["missed error"].tolist() == pytest.approx(expected["missed error"].tolist())
    assert table(test, "missed %")["role"].tolist() == ["", "", "", "misses spans"]


def test_runs_on_planted_tags_are_compared_by_the_spans_that_they_find(workspace: Path) -> None:
    line = "spans n_sentences=40 n_valid=8 n_test=8 n_workers=4"
    [name] = sandbox.plant("crowd", sandbox.plan("crowd", line, [], "", 1))
    folder = workspace / "datasets" / name
    crowd = cc.read_dataset(folder)
    result = cc.learning.train(crowd, "crowd-layer", seeds=1, epochs=1, device="cpu")
    record(workspace, replace(result, dataset=str(folder.resolve())), crowd)
    test = open_page("sandbox", dataset="crowd", crowd=line, planted=name)
    assert "Who recovered what" in words(test)
    scores = tagged_spans(crowd, result)["f1"].tolist()
    shown = table(test, "own error").set_index("method")
    assert shown["F1 of spans"].dropna().tolist() == pytest.approx(scores) and "accuracy" not in shown


def test_planted_tags_are_trained_on_with_settings_that_end_soon() -> None:
    [name] = sandbox.plant("crowd", sandbox.plan("crowd", SPANS, [], "", 1))
    assert usual_settings(opening.labelled(name)) == "seeds=1 epochs=20 lr=0.005 schedule=cosine"


def test_crowds_of_several_kinds_are_not_trained_on_together() -> None:
    names = [sandbox.plant("crowd", sandbox.plan("crowd", line, [], "", 1))[0] for line in (RATINGS, SPANS)]
    test = open_page("sandbox", dataset="crowd", crowd=SPANS, planted=names)
    assert "same kind of" in words(test)

"""Views: what they look at and keep; names of fits, and former names of modules."""

from __future__ import annotations

import gc
import threading
import weakref
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st

import crowdcore as cc
from crowdcore import analysis, exhibits
from crowdcore.core.errors import DataError, SettingError
from crowdcore.exhibits import Exhibit, comparison, differences, planted, view
from crowdcore.exhibits.aggregation import judgement
from crowdcore.exhibits.exhibit import _MOST, cache_size, cached, size_of
from crowdcore.exhibits.fits import canonical, fitted, is_fit, read_fit, spell_fit
from testkit.crowds import simulate_crowd


def test_a_reference_is_fitted_once_per_dataset() -> None:
    crowd = simulate_crowd(40)
    assert view(crowd, "dawid-skene").truth is view(crowd, "dawid-skene").truth
    assert view(crowd) == view(crowd)
    assert view(replace(crowd), "dawid-skene").truth is not view(crowd, "dawid-skene").truth
    assert view(crowd, "dawid-skene smoothing=2.0").reference == "dawid-skene smoothing=2.0"


def test_an_analysis_is_computed_once_per_view_and_settings() -> None:
    seen = view(simulate_crowd(40))
    first = seen.of(analysis.shared_mistakes)
    assert seen.of(analysis.shared_mistakes) is first
    assert view(seen.dataset, hidden=True).of(analysis.shared_mistakes) is first
    assert seen.of(analysis.shared_mistakes, n_resamples=5) is not first
    assert np.array_equal(first.percent, analysis.shared_mistakes(seen.dataset).percent)


def test_pseudonyms_are_unique_stable_and_tell_nothing_of_the_order() -> None:
    crowd = simulate_crowd(200, n_workers=30)
    hidden = view(crowd, hidden=True)
    assert sorted(hidden.workers) == [f"worker {n:02d}" for n in range(1, 31)]
    assert list(hidden.workers) != sorted(hidden.workers)
    assert view(simulate_crowd(200, n_workers=30), hidden=True).workers == hidden.workers
    assert view(crowd).workers[0] == "w000"


def test_tables_of_hidden_workers_are_in_the_order_of_pseudonyms() -> None:
    from crowdcore.exhibits.workers import worker_distances, worker_pairs

    crowd = simulate_crowd(200, n_workers=8, accuracy=0.4)
    shown, hidden = (worker_distances(view(crowd, hidden=of)).table for of in (False, True))
    assert (hidden["worker_a"] < hidden["worker_b"]).all()
    assert hidden["worker_a"].is_monotonic_increasing
    assert sorted(hidden["distance"]) == sorted(shown["distance"])
    called = dict(zip(view(crowd).workers, view(crowd, hidden=True).workers, strict=True))
    pairs = {frozenset((called[a], called[b])): d for a, b, d in shown[["worker_a", "worker_b", "distance"]].to_numpy()}
    assert all(pairs[frozenset((a, b))] == d for a, b, d in hidden[["worker_a", "worker_b", "distance"]].to_numpy())
    alike = worker_pairs(view(crowd, hidden=True)).table
    assert len(alike)
    assert (alike["worker_a"] < alike["worker_b"]).all()


def test_names_are_escaped_for_figures_only() -> None:
    crowd = replace(simulate_crowd(40), classes=("<b>a</b>", "b & c", "c", "d"))
    seen = view(crowd, hidden=True)
    shown = seen.drawable(seen.of(analysis.worker_confusion))
    assert shown.classes[:2] == ("&lt;b&gt;a&lt;/b&gt;", "b &amp; c")
    assert tuple(shown.worker_ids) == seen.workers
    assert seen.of(analysis.worker_confusion).classes == crowd.classes
    assert seen.drawable(seen.of(analysis.summary)).balance.classes[0] == "&lt;b&gt;a&lt;/b&gt;"


def test_names_have_numbers_and_others_are_refused() -> None:
    seen = view(simulate_crowd(40))
    assert (seen.class_number("class 2"), seen.worker_number("w003")) == (2, 3)
    with pytest.raises(SettingError, match=r"0, class.*1"):
        seen.class_number("cat")
    with pytest.raises(SettingError, match="`worker`"):
        seen.worker_number("class 2")


def test_gold_is_refused_where_there_is_none() -> None:
    with pytest.raises(DataError, match="no gold"):
        view(replace(simulate_crowd(20), gold=np.full(20, -1)))


def test_one_thread_computes_and_the_others_wait() -> None:
    began, go, calls = threading.Event(), threading.Event(), []

    @cached
    def slow(n: int) -> list[int]:
        calls.append(n)
        began.set()
        go.wait(10)
        return [n]

    values: list[list[int]] = []
    threads = [threading.Thread(target=lambda: values.append(slow(1))) for _ in range(3)]
    for thread in threads:
        thread.start()
    began.wait(10)
    go.set()
    for thread in threads:
        thread.join(10)
    assert calls == [1]
    assert all(one is values[0] for one in values)


def test_a_refusal_is_tried_again() -> None:
    calls: list[int] = []

    @cached
    def refused() -> int:
        calls.append(1)
        if len(calls) == 1:
            raise DataError("not yet", "wait")
        return 7

    with pytest.raises(DataError):
        refused()
    assert refused() == 7


def test_memory_is_bounded() -> None:
    class Thing:
        pass

    @cached
    def make(n: int) -> Thing:
        return Thing()

    first = weakref.ref(make(0))
    assert make(0) is first()
    for n in range(1, _MOST + 1):
        make(n)
    gc.collect()
    assert first() is None


def test_memory_is_bounded_in_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("crowdcore.exhibits.exhibit.available_memory", lambda: 8 * 1_000_000)

    @cached
    def make(n: int) -> np.ndarray:
        return np.full(50_000, float(n))  # 400 kB each

    arrays = [make(n) for n in range(6)]
    size, most = cache_size()
    assert size <= most == 1_000_000
    assert make(5) is arrays[5]
    assert make(4) is arrays[4]
    assert make(0) is not arrays[0]


def test_the_size_of_a_result_is_that_of_its_arrays() -> None:
    crowd = simulate_crowd(40)
    matrix = np.zeros((10, 10))
    result = {"a": [matrix, matrix], "b": ("xyz", 1.0), "of": crowd}
    assert size_of(result) == 800 + 2 * 8 + 2 * 8 + 3
    assert size_of(crowd) >= crowd.task.nbytes + crowd.worker.nbytes + crowd.label.nbytes
    drawn = view(crowd).of(analysis.shared_mistakes)
    assert size_of(drawn) >= drawn.percent.nbytes


def test_a_table_is_made_when_it_is_asked_for_and_once_and_counts_from_then() -> None:
    made: list[int] = []

    def table() -> pd.DataFrame:
        made.append(1)
        return pd.DataFrame({"n": np.zeros(50_000)})

    exhibit, before = cached(lambda: Exhibit("n", "Numbers", None, table))(), cache_size()[0]
    assert not made
    assert exhibit.table is exhibit.table
    assert made == [1]
    assert cache_size()[0] >= before + 400_000
    assert replace(exhibit, title="More").table is exhibit.table
    with pytest.raises(TypeError):
        Exhibit("n", "Numbers", None)


VALUES = st.one_of(st.booleans(), st.none(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.text())


@given(st.dictionaries(st.sampled_from(["smoothing", "odd", "other"]), VALUES), st.integers(0, 100))
def test_a_name_is_read_back(settings: dict[str, object], gold: int) -> None:
    name = spell_fit("dawid-skene", settings, gold)
    method, found, shown = read_fit(name)
    assert (method, shown) == ("dawid-skene", gold)
    assert found == {key: value for key, value in settings.items() if (key, value) != ("smoothing", 0.01)}
    assert {key: type(value) for key, value in found.items()} == {key: type(settings[key]) for key in found}
    assert len(name.split()) == 1 + len(found) + bool(gold)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("dawid-skene", "dawid-skene"),
        ("dawid-skene smoothing=0.01 gold=0%", "dawid-skene"),
        ("dawid-skene  restarts=2 smoothing=1", "dawid-skene restarts=2 smoothing=1.0"),
        ("mace inference=em gold=20%", "mace inference=em gold=20%"),
        ("conal-em rename=false", "conal-em rename=false"),
    ],
)
def test_one_spelling_for_each_fit(name: str, expected: str) -> None:
    assert canonical(name) == expected
    assert canonical(expected) == expected


WRONG = ("smoothing", "smoothing=-1", "self=1", "name=x", "gold=20", "gold=120%", "gold=true", "=1")


@pytest.mark.parametrize("name", ["", "gold", "dawid-skeen", *(f"dawid-skene {word}" for word in WRONG)])
def test_what_cannot_be_run_is_refused(name: str) -> None:
    with pytest.raises(SettingError):
        canonical(name)
    assert not is_fit(name)


def test_shown_gold_is_clamped_and_the_rest_judges() -> None:
    crowd = simulate_crowd()
    known, judging = cc.analysis.show_gold(crowd, 20)
    result = fitted(crowd, "dawid-skene gold=20%")
    shown = known >= 0
    assert (result.labels[shown] == crowd.gold[shown]).all()
    judged = judgement(crowd, "dawid-skene gold=20%")
    assert judged.n_judged == (judging >= 0).sum() == crowd.n_tasks - shown.sum()
    assert judged.accuracy == (result.labels == crowd.gold)[~shown].mean()


def test_a_fit_with_settings_is_a_reference() -> None:
    crowd, name = simulate_crowd(), "dawid-skene smoothing=2.0"
    reread = view(crowd, name)
    assert reread.reference == name
    assert np.array_equal(reread.truth.labels, cc.aggregation.get("dawid-skene", smoothing=2.0).fit(crowd).labels)
    with pytest.raises(SettingError, match="dawid-skene"):
        view(crowd, "dawid-skeen")


def test_an_old_module_is_the_new_one() -> None:
    for old, new in exhibits._MOVED.items():
        with pytest.warns(DeprecationWarning, match=old):
            assert getattr(exhibits, old).__name__ == f"crowdcore.exhibits.{new}"


def test_functions_go_by_their_old_names() -> None:
    assert planted.errors is planted.study_errors
    assert comparison.over_seeds is differences.over_seeds

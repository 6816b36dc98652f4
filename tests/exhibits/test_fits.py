"""Names of fits are read back as they were spelled, and say all that is needed to run them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

import crowdcore as cc
from crowdcore.core.errors import SettingError
from crowdcore.exhibits import view
from crowdcore.exhibits.aggregation import judgement
from crowdcore.exhibits.fits import canonical, fitted, is_fit, read_fit, spell_fit
from testkit.crowds import simulate_crowd

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
    found = view(crowd, name)
    assert found.reference == name
    assert np.array_equal(found.truth.labels, cc.aggregation.get("dawid-skene", smoothing=2.0).fit(crowd).labels)
    with pytest.raises(SettingError, match="dawid-skene"):
        view(crowd, "dawid-skeen")

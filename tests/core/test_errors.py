"""Errors carry what tests and doors need as fields; remedies are data that each door phrases."""

from __future__ import annotations

import pickle

import pytest

from crowdcore.core.errors import CrowdError, DataError, Remedy, SettingError


@pytest.mark.parametrize(
    ("remedy", "sentence"),
    [
        (Remedy("encoding"), "Pass encoding=…."),
        (Remedy("repeats", ("first", "last"), "reduce them"), "Pass repeats='first' or repeats='last' to reduce them."),
        (Remedy("missing", ["-1"], when="it means “missing”"), "If it means “missing”, pass missing=['-1']."),
        (Remedy(("low", "high")), "Pass low=… and high=…."),
        (Remedy.accept(), "Pass accept=True to continue."),
        (Remedy.read_as("ratings"), "Pass kind='ratings'."),
        (Remedy.take_reference("mean"), "Pass reference='mean'."),
    ],
)
def test_a_remedy_in_python(remedy: Remedy, sentence: str) -> None:
    assert str(remedy) == sentence


@pytest.mark.parametrize(
    "error",
    [
        CrowdError("Nothing there.", [Remedy.accept()]),
        SettingError("low", "be below `high`", 3, remedies=[Remedy("low", 1)]),
        DataError("There is no label", file="a.csv", row=3, column="x", code="no-label", remedies=[Remedy("label")]),
    ],
    ids=lambda error: type(error).__name__,
)
def test_errors_keep_their_fields_across_processes(error: CrowdError) -> None:
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is type(error)
    assert (str(copy), vars(copy)) == (str(error), vars(error))


def test_a_door_phrases_the_remedies_of_an_error() -> None:
    error = CrowdError("Two rows say different things.", [Remedy("repeats", "first")])
    assert error.phrased(lambda remedy: f"choose {remedy.value}") == "Two rows say different things. Choose first."

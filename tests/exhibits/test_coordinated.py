"""Groups in words, in pseudonyms, and what a click chooses."""

from __future__ import annotations

import pytest

from crowdcore import SettingError
from crowdcore.exhibits import View, coordinated, view
from testkit.planted import ATTACKED, attacked_crowd, honest_crowd


@pytest.fixture(scope="module")
def seen() -> View:
    return view(attacked_crowd(1, "copy", 3, 0.9, **ATTACKED["4 classes, sparse"]), "gold")


def test_the_group_is_told_in_words_with_its_influence(seen: View) -> None:
    shown = coordinated.coordinated_workers(seen)
    row = shown.table.iloc[0]
    assert row["workers"] == "w00, w01, w02"
    words = shown.notes[0]
    assert "w00, w01 and w02" in words
    assert f"{row['labels changed']} labels" in words
    assert f"{row['become right']:.0f} become right" in words
    assert row["share without"] != row["share with"]


def test_a_bar_chooses_its_group_and_a_cell_the_mistake(seen: View) -> None:
    shown = coordinated.coordinated_workers(seen)
    assert shown.click is not None and shown.figure is not None
    assert shown.click(0) == {"together": "1"}
    assert [bar.customdata[0][-1] for bar in shown.figure.data] == [0, 0, 0]
    assert sum(bar.x[0] for bar in shown.figure.data) == shown.table["labels changed"].iloc[0]
    change = coordinated.coordinated_confusion(seen, 1)
    assert change.click is not None
    assert change.click(0, 1) == {"true": "class 0", "given": "class 1"}
    cell = change.table.query("true == 'class 0' and given == 'class 1'").iloc[0]
    assert cell["difference"] == pytest.approx(cell["share with"] - cell["share without"])


def test_hidden_names_come_as_pseudonyms_in_their_own_order(seen: View) -> None:
    hidden = view(seen.dataset, "gold", hidden=True)
    shown = coordinated.coordinated_workers(hidden)
    names = shown.table["workers"].iloc[0].split(", ")
    assert names == sorted(hidden.workers[worker] for worker in range(3))
    assert tuple(names) == coordinated.members(hidden, 1)
    assert "w00" not in str(shown.figure) + "".join(shown.notes)


def test_a_crowd_without_groups_says_so() -> None:
    honest = view(honest_crowd(0))
    shown = coordinated.coordinated_workers(honest)
    assert shown.figure is None and shown.table.empty
    with pytest.raises(SettingError, match="no group was found"):
        coordinated.coordinated_confusion(honest, 1)

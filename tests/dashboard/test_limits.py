"""Tables are filtered by number, and the address keeps the limits; the likeliest wrong label comes first."""

from __future__ import annotations

import pytest

from crowdcore.core.errors import SettingError
from crowdcore.exhibits import between, tasks, view
from testkit.crowds import simulate_crowd
from tests.dashboard.app_page import open_page, table


def test_limits_come_from_the_address_in_the_unit_that_is_shown() -> None:
    test = open_page("tasks", dataset="demo", column="share", least="40", most="60", sort="gain")
    assert not test.exception
    assert not test.error
    found = table(test, "share")
    assert len(found)
    assert found["share"].between(40, 60).all()
    assert found["gain"].is_monotonic_decreasing
    next(box for box in test.number_input if box.label == "At most (%)").set_value(50.0).run()
    assert table(test, "share")["share"].between(40, 50).all()
    assert test.query_params["most"] == "50.0"


@pytest.mark.parametrize(("page", "address"), [("overview", {"wcolumn": "labels", "wleast": "200"})])
def test_workers_of_few_labels_are_left_out(page: str, address: dict[str, str]) -> None:
    found = table(open_page(page, dataset="demo", **address), "κ low")
    assert (found["labels"] >= 200).all()


def test_a_column_without_numbers_is_refused() -> None:
    found = tasks.tasks(view(simulate_crowd(60)), sort="gain").table
    assert between(found, "annotations", 3, None).equals(found)
    with pytest.raises(SettingError, match="one with numbers"):
        between(found, "task", 0)

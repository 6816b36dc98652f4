"""The page Next labels keeps its choices in the address and shows what the exhibit holds."""

from __future__ import annotations

from tests.dashboard.app_page import open_page, table, words


def test_budget_capacity_and_workers_come_from_the_address() -> None:
    address = {"budget": "30", "capacity": "12", "available": ["w01", "w02", "w03"]}
    test = open_page("next", dataset="demo", names="shown", **address)
    assert not test.exception
    assert not test.error
    assert "30 labels" in words(test)
    each, assigned = table(test, "labels"), table(test, "task")
    assert each["labels"].sum() == len(assigned) == 30
    assert each["labels"].max() <= 12
    assert set(assigned["worker"]) <= {"w01", "w02", "w03"}
    hidden = open_page("next", dataset="demo", names="hidden", budget="30")
    assert table(hidden, "task")["worker"].str.startswith("worker ").all()
    assert table(hidden, "labels")["labels"].max() <= 3  # thrice an equal share of 30 labels among 40 workers

"""`crowdcore reproduce`: the list, and a table of which nothing was trained."""

from __future__ import annotations

from tests.runs.conftest import workspace  # noqa: F401


def test_list_and_an_entry(workspace, crowdcore, refused):  # noqa: F811
    assert {"conal-tab1", "ccc-fig4"} <= {entry["id"] for entry in crowdcore("reproduce", "LIST")}
    [told] = crowdcore("reproduce", "trace-fig7", "--no-train")
    assert told["table"][0]["paper"] == "75.57 ± 0.16"
    assert told["table"][0]["ours"].startswith("not run: ")
    assert refused("reproduce", "conal-tab", "--no-train").got == "conal-tab"

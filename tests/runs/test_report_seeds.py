"""What reports say of seeds."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from crowdcore.data import simulate
from crowdcore.runs.report import RUN_PARTS, Trained, build, to_html
from tests.learning.made_up import made_up
from tests.runs.report_page import Page, trained


@pytest.fixture(scope="module")
def crowd():
    return simulate.synthetic(n_tasks=200, n_valid=30, n_test=60, n_workers=6)


def test_seeds_that_are_not_comparable_are_not_averaged(crowd):
    one = trained(crowd, "conal")[0]
    early = replace(one.result, selected_epoch=np.array([1, 2, 6]))
    by = {e.name: e for e in build(crowd, [replace(one, result=early)]).exhibits}
    for name in ("workers-conal", "omega-conal"):
        assert by[name].notes[0].startswith("Seed 0 is shown")


def test_a_report_of_one_seed_names_no_deviation_and_shows_no_empty_column(crowd):
    found = build(crowd, [Trained("1" * 32, made_up(crowd, m, (0,)), m) for m in ("conal", "trace")], [*RUN_PARTS])
    for exhibit in found.exhibits:
        assert not [c for c in exhibit.table.columns if "±" in str(c) or str(c).endswith("std")], exhibit.name
        assert not exhibit.table.isna().all().any() or exhibit.table.empty
        drawn = "" if exhibit.figure is None else exhibit.figure.to_json()
        assert "\\u00b1" not in drawn and "mean over seeds" not in drawn, exhibit.name
    assert "±" not in "".join(Page(to_html(found)).text)

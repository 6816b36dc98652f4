"""Finished runs to compare, recorded once for all tests of Compare, and that page opened on them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
from streamlit.testing.v1 import AppTest

import crowdcore as cc
from crowdcore.data import simulate
from crowdcore.data.writers import write_folder
from testkit.recorded_runs import record
from tests.dashboard.app_page import open_page
from tests.learning.helpers import featured_crowd
from tests.learning.made_up import made_up

METHODS = ("conal", "crowd-layer", "dl-mv")


class Recorded:
    """Datasets with finished runs: ``crowd`` with one per method, crowds of two strengths.

    On ``crowd`` there is also another conal (λ), a run of a single seed, one without test tasks, and one on other gold.
    """

    def __init__(self, folder: Path) -> None:
        self.datasets, self.workspace = folder / "data", folder / "workspace"
        self.datasets.mkdir()
        crowd = write_folder(replace(featured_crowd(200), name="crowd"), self.datasets / "crowd")
        self.crowd = cc.read_dataset(crowd)
        usual = {"conal": {"regularisation": 1e-5}}
        self.results = {m: made_up(self.crowd, m, sure=1 + k / 2, settings=usual.get(m)) for k, m in enumerate(METHODS)}
        self.ids = {m: record(self.workspace, r, self.crowd) for m, r in self.results.items()}
        self.results["λ"] = made_up(self.crowd, "conal", draw=1, settings={"regularisation": 0.5})
        self.ids["λ"] = record(self.workspace, self.results["λ"], self.crowd, regularisation=0.5)
        split = np.maximum(self.crowd.split, 0)
        others = {
            "one seed": made_up(self.crowd, "trace", (4,), draw=5),
            "no test": made_up(self.crowd, "trace", split=np.where(split == 2, 0, split)),
        }
        self.ids |= {name: record(self.workspace, result, self.crowd) for name, result in others.items()}
        gone = replace(self.results["conal"], fingerprint="0" * 32)
        self.ids["gone"] = record(self.workspace, gone, replace(self.crowd, gold=self.crowd.gold * 0))
        self.strengths = {}
        for strength in (0.4, 0.8):
            name = f"strength-{strength}"
            made = simulate.synthetic(n_tasks=120, n_valid=20, n_test=40, n_workers=5, common_strength=strength)
            opened = cc.read_dataset(write_folder(replace(made, name=name), self.datasets / name))
            self.strengths[name] = {m: made_up(opened, m) for m in ("conal", "crowd-layer")}
            for m, r in self.strengths[name].items():
                self.ids[f"{m} {strength}"] = record(self.workspace, r, opened)

    def of(self, *names: str) -> list[str]:
        return [self.ids[name] for name in names]


def page(which: str = "compare", **address: str | list[str]) -> AppTest:
    test = open_page(which, **{"dataset": "crowd", **address})
    assert not test.error
    return test

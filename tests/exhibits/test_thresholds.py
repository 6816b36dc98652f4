"""Page, command and check judge workers alike."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

from crowdcore import analysis
from crowdcore.analysis.checks.rules import rules_of
from crowdcore.cli import analyse
from crowdcore.exhibits import verdicts, view
from crowdcore.exhibits.overview import checked
from testkit.known_truth import PLANTED


def test_command_and_page_have_the_same_thresholds() -> None:
    of = [inspect.signature(made).parameters for made in (analyse.overview, verdicts.actions)]
    for name in ("remove", "trust", "confused", "sure"):
        assert of[0][name].default == of[1][name].default


@pytest.mark.parametrize("seed", range(3))
def test_a_check_counts_as_spammers_whom_overview_removes(seed: int) -> None:
    crowd = PLANTED["spams, 2 classes"](np.random.default_rng(seed)).dataset
    seen = view(crowd, "gold")
    removed = (verdicts.workers_judged(seen).verdict == "remove").sum()
    assert (analysis.worker_verdicts(crowd).verdict == "remove").sum() == removed > 0
    (rule,) = checked(seen, rules_of({"max_spamming_workers_percent": 0.0})).outcomes
    assert rule.value == pytest.approx(100 * removed / crowd.n_workers)

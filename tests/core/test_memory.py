"""Memory of the process."""

from __future__ import annotations

from contextlib import ExitStack

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import crowdcore as cc
from crowdcore.core.errors import CrowdError
from crowdcore.core.memory import frugal_memory
from crowdcore.exhibits import view
from crowdcore.exhibits.overview import check
from crowdcore.exhibits.verdicts import verdicts


def test_the_usual_pool_comes_back_whoever_leaves_first():
    usual = pa.default_memory_pool().backend_name
    one, other = ExitStack(), ExitStack()  # as two sessions that open datasets at once
    one.enter_context(frugal_memory())
    assert pa.default_memory_pool().backend_name == "system"
    other.enter_context(frugal_memory())
    one.close()
    other.close()
    assert pa.default_memory_pool().backend_name == usual


@pytest.mark.parametrize("gold", [True, False])
def test_three_thousand_classes_are_refused_before_memory_runs_out(gold, monkeypatch):
    monkeypatch.setattr("crowdcore.core.memory.available_memory", lambda: 8 << 30)
    rng, columns = np.random.default_rng(0), ["task", "worker", "label", "gold"][: 3 + gold]
    rows = [(t, w, f"c{rng.integers(3000)}", f"c{t}") for t in range(3000) for w in rng.choice(40, 3, replace=False)]
    votes = cc.from_frame(pd.DataFrame([row[: 3 + gold] for row in rows], columns=columns), kind="classes")
    for look in (verdicts, check) if gold else (verdicts,):
        with pytest.raises(CrowdError, match=r"40 workers.* GiB"):
            look(view(votes, "gold" if gold else "auto"))
    assert len(view(votes, "gold" if gold else "majority-vote").of(cc.analysis.summary).frame())

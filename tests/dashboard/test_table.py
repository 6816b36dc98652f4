"""Numbers of tables: shares in per cent, and no minus sign before a zero."""

from __future__ import annotations

import numpy as np
import pandas as pd

from crowdcore import load_dataset
from crowdcore.exhibits import verdicts, view
from crowdcore.exhibits.worker_words import knowledge
from dashboard.components.table import without_minus_zero
from dashboard.components.text import number


def test_what_rounds_to_zero_has_no_minus_sign() -> None:
    frame = pd.DataFrame(
        {
            "κ low": [-0.004, -0.006, np.nan],
            "share": [-0.0004, 0.1234, 1.0],
            "accuracy without": [-0.00004, -0.0015, 0.0],
            "labels": [1, 2, 3],
            "reason": ["a", "b", "c"],
        }
    )
    shown = without_minus_zero(frame)
    assert not np.signbit(shown[["κ low", "share", "accuracy without"]].iloc[0]).any()
    assert shown["κ low"].tolist()[:2] == [0.0, -0.006]
    assert shown["share"].tolist() == [0.0, 12.34, 100.0]
    assert shown["accuracy without"].tolist() == [0.0, -0.15, 0.0]
    assert shown[["labels", "reason"]].equals(frame[["labels", "reason"]])
    assert number(-0.0004) == "0.000"


def test_a_small_negative_kappa_is_written_as_zero(data_folder: object) -> None:
    seen = view(load_dataset("labelme"), "gold")
    low = verdicts.worker_verdicts(seen).table.set_index("worker")["κ low"]
    assert -0.005 < low["w0047"] < 0
    assert knowledge(verdicts.workers_judged(seen), seen.worker_number("w0047")).split()[-4:] == ["0", "to", "64", "%"]

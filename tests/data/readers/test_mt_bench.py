"""Judgments of MT-bench."""

from __future__ import annotations

import csv

from crowdcore.data import examine
from testkit import exports


def test_scores_of_a_csv(tmp_path):
    path = tmp_path / "judgments.csv"
    names = ["question_id", "model", "judge", "user_prompt", "judgment", "score"]
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, names, extrasaction="ignore")
        writer.writeheader()
        writer.writerows({**record, "judge": f"judge-{n % 2}"} for n, record in enumerate(exports.MT_BENCH))
    found = examine(path)
    assert found.report.format == "mt-bench"
    data = found.dataset(accept=True)
    assert data.classes == ("7", "8")
    assert list(data.task_ids) == ["1 / alpaca", "2 / alpaca"]
    assert list(data.worker_ids) == ["judge-0", "judge-1"]
    assert {f.code: f.rows for f in found.report.changes} == {"no-score": (4,)}

"""Pseudonyms: stable, made of a key that the workspace keeps, and nothing beside them says who a worker is."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from crowdcore.data.dataset import CrowdDataset, SimulatedTruth
from crowdcore.data.pseudonyms import hidden_in, hide_names, pseudonyms


def named(crowd: CrowdDataset) -> CrowdDataset:
    names = ["Zoë  Ab", "Q&A", "don't", *(f"anna{n}" for n in range(9))]
    return replace(crowd, worker_ids=pd.Index(names), extra=pd.DataFrame({"mail": ["a@b.c"] * crowd.n_annotations}))


def test_they_come_of_the_workspace_s_key(crowd: CrowdDataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = {}
    for name in ("none", "one", "other"):
        monkeypatch.setenv("CROWDCORE_WORKSPACE", str(tmp_path / name))
        if name != "none":
            (tmp_path / name).mkdir()
        made[name] = pseudonyms(crowd)
        assert pseudonyms(crowd) == made[name]
        assert sorted(made[name]) == [f"worker {n:02d}" for n in range(1, 13)]
    assert len(set(map(tuple, made.values()))) == 3
    assert not (tmp_path / "none").exists()
    (key,) = (tmp_path / "one").iterdir()
    assert (key.name, key.stat().st_mode & 0o777, key.stat().st_size) == ("pseudonyms.key", 0o600, 32)


def test_hiding_leaves_numbers_and_fingerprint_and_nothing_that_names(crowd: CrowdDataset) -> None:
    truth = SimulatedTruth(worker_role=("copier of anna1",) * 12)
    shown = replace(named(crowd), truth=truth, notes=("2 workers gave one label, such as 'anna1'.",))
    hidden = hide_names(shown)
    assert hidden.worker_ids.tolist() == pseudonyms(shown)
    assert (hidden.fingerprint, hidden.extra) == (shown.fingerprint, None)
    assert "anna" not in f"{hidden.notes}{hidden.truth}{hidden.annotations.to_csv()}"


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("1 worker, such as 'anna0'.", "1 worker, such as '{3}'."),
        (
            "2 spellings of worker names merged: ' ANNA0' with 'anna0'.",
            "2 spellings of worker names merged: '{3}' with '{3}'.",
        ),
        ("Merged worker 'Zoe Ab' with 'Zoë  Ab'.", "Merged worker '{0}' with '{0}'."),
        (
            "1 worker, such as \"don't\" (column 'hit_worker'; row 1).",
            "1 worker, such as '{2}' (column 'hit_worker'; row 1).",
        ),
        ("A worker without any label would be left out: 'bob'.", "A worker without any label would be left out: '…'."),
        ("3 labels outside the classes: 'bob'.", "3 labels outside the classes: 'bob'."),
        ("2 tasks without any annotation, such as 'Q&A'.", "2 tasks without any annotation, such as 'Q&A'."),
    ],
)
def test_findings_name_pseudonyms(crowd: CrowdDataset, said: str, expected: str) -> None:
    about = replace(named(crowd), task_ids=pd.Index(["Q&A", *(f"t{n}" for n in range(299))]))
    assert hidden_in([said], about) == (expected.format(*pseudonyms(about)),)

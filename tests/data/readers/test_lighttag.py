"""LightTag's JSON."""

from __future__ import annotations

import json

import pytest

from crowdcore.core.errors import DataError
from crowdcore.data import examine
from testkit import exports


def test_who_saw_and_who_classified(tmp_path):
    found = examine(exports.write(tmp_path)["lighttag.json"])
    assert {f.code: (f.count, f.left_out) for f in found.report.changes} == {
        "region": (1, 0), "several-choices": (1, 1), "no-choice": (1, 1), "workers-without-labels": (1, 0)
    }  # fmt: skip
    assert found.dataset(accept=True).extra["timestamp"].tolist() == ["2020-03-01T10:00:00Z"] * 4


def test_tags_alone_are_no_classes(tmp_path):
    path = tmp_path / "tags.json"
    examples = [{**example, "classifications": []} for example in exports.LIGHTTAG["examples"]]
    path.write_text(json.dumps({"examples": examples}), encoding="utf-8")
    with pytest.raises(DataError, match=r"^No annotation is a choice of one class: 1 region .*; 6 annotations without"):
        examine(path)

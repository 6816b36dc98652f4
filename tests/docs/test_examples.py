"""Examples in docstrings run and print what they show, and the main public functions have one."""

from __future__ import annotations

import doctest
import importlib
import inspect
from pathlib import Path

import pytest

import crowdcore as cc
from tests.docs.runner import ROOT

FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


def _module(file: Path) -> str:
    return ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


MODULES = sorted(_module(f) for f in (ROOT / "crowdcore").rglob("*.py") if ">>> " in f.read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", MODULES)
def test_examples_run(name: str) -> None:
    done = doctest.testmod(importlib.import_module(name), optionflags=FLAGS)
    assert done.attempted
    assert not done.failed, "see the captured output"


def test_main_functions_have_examples() -> None:
    for function in (
        *(cc.list_datasets, cc.load_dataset, cc.read_dataset, cc.from_frame),
        *(cc.analysis.summary, cc.analysis.noise_rates, cc.analysis.agreement, cc.analysis.resolve_reference),
        *(cc.analysis.shared_mistakes, cc.analysis.mistake_cell, cc.analysis.mistake_list, cc.analysis.pair_mistakes),
        *(cc.analysis.worker_confusion, cc.analysis.worker_distance, cc.analysis.worker_quality, cc.analysis.what_if),
        *(cc.aggregation.DawidSkene, cc.aggregation.MajorityVote),
        *(cc.figures.shared_mistakes, cc.figures.worker_distance, cc.figures.confusion),
        *(cc.learning.train, cc.learning.study_recovery),
        importlib.import_module("crowdcore.exhibits").view,
    ):
        assert ">>> " in (inspect.getdoc(function) or ""), function

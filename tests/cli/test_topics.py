"""`crowdcore topics`: topics of texts, and the classes of those that it learnt from."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from crowdcore.data.dataset import Media
from crowdcore.data.writers import write_folder
from testkit.crowds import simulate_crowd


def test_topics_are_told_and_classes_written(run, crowdcore, refused, tmp_path):
    crowd = simulate_crowd(120, n_workers=6, n_classes=3)
    words = (("lion", "tiger", "puma"), ("oak", "birch", "pine"), ("iron", "zinc", "lead"))
    rng = np.random.default_rng(0)
    texts = pd.DataFrame({"text": [" ".join(rng.choice(words[g], 12)) for g in crowd.gold]})
    split = np.where(np.arange(120) < 80, 0, 2).astype(np.int8)
    write_folder(replace(crowd, split=split, media=Media(columns=texts)), tmp_path / "texts")
    asked = ("topics", tmp_path / "texts", "--set", "n_topics=3", "--words", "3", "--out", tmp_path / "labels.csv")
    told = crowdcore(*asked)
    assert {frozenset(topic["words"].split()) for topic in told["topics"]} == set(map(frozenset, words))
    assert told["test_accuracy"] > 0.95 and told["texts"] == 80
    written = pd.read_csv(tmp_path / "labels.csv")
    right = (written["label"].to_numpy() == np.array(crowd.classes)[crowd.gold[:80]]).mean()
    assert len(written) == 80 and right == pytest.approx(told["accuracy"])
    assert "tiger" in run(*asked).out
    assert "has no texts" in str(refused("topics", "demo"))

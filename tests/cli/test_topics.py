"""`crowdcore topics` and `crowdcore ratings topics`: topics of texts, workers, and predictions for new texts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from crowdcore.data.dataset import Media
from crowdcore.data.writers import write_folder
from testkit.crowds import simulate_crowd
from tests.rated_crowd import rated_crowd


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


def test_topics_are_told_and_ratings_written(run, crowdcore, refused, tmp_path):
    crowd, _ = rated_crowd(120, 5, 3)
    rng = np.random.default_rng(0)
    words = (("poor", "dull", "flat"), ("fair", "okay", "usual"), ("good", "fine", "great"))
    third = np.digitize(crowd.gold, np.quantile(crowd.gold, [1 / 3, 2 / 3]))
    said = [" ".join(rng.choice(words[of], 12)) for of in third]
    path = tmp_path / "texts"
    path.mkdir()
    (path / "classes.txt").write_text("# regression: rating on -2..3\n")
    crowd.annotations.rename(columns={"rating": "label"}).to_csv(path / "annotations.csv", index=False)
    split = np.where(np.arange(120) < 80, "train", "test")
    tasks = pd.DataFrame({"task": crowd.task_ids, "split": split, "gold": crowd.gold})
    tasks.assign(text=said).to_csv(path / "tasks.csv", index=False)
    out = tmp_path / "ratings.csv"
    asked = ("ratings", "topics", path, "--set", "n_topics=3", "--words", "3", "--out", out)
    told = crowdcore(*asked)
    assert [set(topic["words"].split()) for topic in told["topics"]] == list(map(set, words)), "lowest rated first"
    assert told["texts"] == 80 and 0 < told["errors"]["test"]["rmse"] < crowd.gold[80:].std()
    assert len(told["workers"]) == 5
    written = pd.read_csv(out).set_index("task")["rating"]
    assert len(written) == 120
    left = written[crowd.task_ids[80:].astype(str)].to_numpy() - crowd.gold[80:]
    assert np.abs(left).mean() == pytest.approx(told["errors"]["test"]["mae"])
    assert "against gold: MAE" in run(*asked).out
    tasks.to_csv(path / "tasks.csv", index=False)
    assert "has no texts" in str(refused("ratings", "topics", path))

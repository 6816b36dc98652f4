"""`crowdcore ratings topics`: topics of rated texts, workers, and ratings of new texts."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from tests.rated_crowd import rated_crowd


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

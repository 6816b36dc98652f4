from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from crowdcore.runs.artefacts import result_scores
from tests.learning.helpers import featured_crowd
from tests.learning.made_up import made_up


def test_accuracies_are_means_over_seeds_at_their_epochs() -> None:
    result = replace(made_up(featured_crowd(60)), selected_epoch=np.array([1, 3, 6]))
    scores = result_scores(result)
    for at in ("selected", "last", "best"):
        reached = result.accuracy("test", at=at)
        assert scores[f"test_accuracy_{at}"] == pytest.approx(reached.mean())
        assert scores[f"test_accuracy_{at}_std"] == pytest.approx(reached.std(ddof=1))
    valid = [result.curves["valid_accuracy"][epoch - 1, seed] for seed, epoch in enumerate((1, 3, 6))]
    assert scores["valid_accuracy_selected"] == pytest.approx(np.mean(valid))
    assert scores["valid_accuracy_selected_std"] == pytest.approx(np.std(valid, ddof=1))


def test_one_seed_has_no_deviation_and_nothing_selected_no_validation() -> None:
    result = replace(made_up(featured_crowd(60), seeds=(4,)), validated_on="")
    assert not [name for name in result_scores(result) if name.endswith("_std") or name.startswith("valid")]

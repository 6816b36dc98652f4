"""`auto` on features and crowds that leave little to learn: a defined result, or one sentence with the remedy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from crowdcore.core.errors import CrowdError
from crowdcore.data.dataset import CrowdDataset
from crowdcore.data.rows import Rows
from crowdcore.learning import train
from tests.learning.helpers import featured_crowd

RUN = {"epochs": 1, "batch_size": 32, "backbone_settings": {"hidden": 8}, "device": "cpu", "seeds": 1}
pytestmark = pytest.mark.usefixtures("short_trials")
Change = Callable[[np.ndarray], np.ndarray]


def changed(change: Change, **crowd: int) -> CrowdDataset:
    whole = featured_crowd(**crowd)
    features = change(np.array(whole.features)).astype(np.float32)
    return replace(whole, features=Rows.from_array(features))


def noise_beside(x: np.ndarray) -> np.ndarray:
    return np.concatenate([x, x, np.full((len(x), 1), 7), np.random.default_rng(0).standard_normal((len(x), 100))], 1)


@pytest.mark.parametrize(
    ("crowd", "select_on"),  # the contract holds it to others where gold selects
    [
        (lambda: changed(noise_beside), "gold"),
        (lambda: changed(noise_beside), "none"),
        (lambda: changed(lambda x: np.full_like(x, 3)), "none"),
        (lambda: featured_crowd().where(featured_crowd().label != 1), "none"),
        (lambda: featured_crowd(n_workers=1, per_task=1), "none"),
        (lambda: featured_crowd(n_workers=8, per_task=1), "none"),
    ],
    ids=["collinear", "collinear, no gold", "all the same", "a class unused", "one worker", "one label per task"],
)
def test_there_is_a_result(crowd, select_on):
    crowd = crowd()
    result = train(crowd, "auto", **RUN, select_on=select_on)
    p = result.probabilities["selected"]
    assert np.isfinite(p).all()
    np.testing.assert_allclose(p.sum(-1), 1, atol=1e-4)
    assert result.candidates["weight"].sum() == pytest.approx(1)


@pytest.mark.filterwarnings("ignore:overflow")
@pytest.mark.parametrize(
    ("change", "said", "select_on"),
    [
        (lambda x: np.where(np.arange(x.size).reshape(x.shape) == 7, np.nan, x), "'t00001' hold NaN or inf", "gold"),
        (lambda x: np.where(np.arange(x.size).reshape(x.shape) == x.size - 1, np.inf, x), "'t00059' hold NaN", "none"),
        (lambda x: 3e37 * x, "Training diverged.* or look for extreme values in the features.", "none"),
    ],
)
def test_features_that_no_candidate_can_use_are_refused_in_one_sentence(change, said, select_on):
    with pytest.raises(CrowdError, match=said):
        train(changed(change), "auto", **RUN, select_on=select_on)

"""On a GPU: the same results as on the CPU, alone and stacked, recorded and eager."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from crowdcore.learning import methods, train
from tests.learning.helpers import featured_crowd

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")

RUN = {"epochs": 4, "batch_size": 13, "select_on": "gold", "lr": 0.01}


@pytest.mark.parametrize("method", methods.names())
def test_device_stack_recording_and_streaming_do_not_matter(method, monkeypatch):
    monkeypatch.setattr("crowdcore.learning.training.loop._WORTH_RECORDING", 1)
    crowd = featured_crowd()
    reference = train(crowd, method, seeds=[3], device="cpu", **RUN).curves["loss"][:, 0]
    for seeds, settings in [([3], {}), ([1, 3, 4], {}), ([1, 3], {"record": False}), ([1, 3], {"feed": "stream"})]:
        loss = train(crowd, method, seeds=seeds, device="cuda", **RUN, **settings).curves["loss"]
        np.testing.assert_allclose(loss[:, seeds.index(3)], reference, rtol=1e-3)


def test_deterministic_runs_repeat():
    crowd = featured_crowd()
    a, b = (train(crowd, "conal", seeds=2, device="cuda", deterministic=True, **RUN) for _ in range(2))
    assert np.array_equal(a.probabilities["last"], b.probabilities["last"])

"""The same results from torch: on the CPU here, on a GPU where there is one."""

from __future__ import annotations

import numpy as np
import pytest

import crowdcore as cc
from crowdcore.aggregation._em import start_posterior
from crowdcore.core.em import LabelTable, TorchEngine
from crowdcore.core.errors import MissingExtraError, SettingError
from crowdcore.testing import widen
from testkit.crowds import simulate_crowd

NAMES = ["dawid-skene", "one-coin", "fast-dawid-skene"]


@pytest.fixture
def crowd():
    """Repeats of a worker on a task, a task and a worker without annotations."""
    crowd = simulate_crowd(300, 12, 4, per_task=4, accuracy=0.6)
    return widen(crowd.where(crowd.worker != 3), tasks=2)


@pytest.fixture
def known(crowd):
    known = np.where(np.arange(crowd.n_tasks) % 9 == 0, crowd.gold, -1)
    known[-1] = 1
    return known


@pytest.mark.parametrize("name", NAMES)
def test_torch_engine_equals_the_host(name, crowd, known):
    pytest.importorskip("torch", reason="torch is not installed")
    model = cc.aggregation.get(name, max_iterations=25, tolerance=0)
    expected = model.fit(crowd, known=known)
    table = LabelTable.of(crowd.task_start, crowd.worker, crowd.label, crowd.n_workers, crowd.n_classes, known)
    engine = TorchEngine(table, start_posterior(crowd, known), model.hard, "cpu")
    fitted = model.run(engine, crowd.n_workers)
    assert engine.n_annotations == crowd.n_annotations
    np.testing.assert_allclose(fitted.trace.log_likelihood, expected.log_likelihood, rtol=1e-12)
    np.testing.assert_allclose(engine.posterior, np.nan_to_num(expected.posterior), atol=1e-9)
    parts = model.parts(fitted.parameters, fitted.sums)
    np.testing.assert_allclose(parts["confusion"], expected.confusion, atol=1e-9)
    np.testing.assert_allclose(parts["prior"], expected.prior, atol=1e-12)


def test_auto_falls_back_to_the_cpu_and_cuda_says_what_is_missing(crowd, monkeypatch):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    on_cpu, auto = (cc.aggregation.get("dawid-skene", device=device).fit(crowd) for device in ("cpu", "auto"))
    np.testing.assert_array_equal(auto.posterior, on_cpu.posterior)
    with pytest.raises(SettingError, match="sees no GPU"):
        cc.aggregation.get("dawid-skene", device="cuda").fit(crowd)
    monkeypatch.setattr("crowdcore.core.em.find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match="learning"):
        cc.aggregation.get("dawid-skene", device="cuda").fit(crowd)
    np.testing.assert_array_equal(
        cc.aggregation.get("dawid-skene", device="auto").fit(crowd).posterior, on_cpu.posterior
    )


@pytest.mark.parametrize("name", NAMES)
def test_gpu_equals_the_cpu(name, crowd, known):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    if not torch.cuda.is_available():
        pytest.skip("needs a GPU")
    cpu, gpu = (cc.aggregation.get(name, device=device).fit(crowd, known=known) for device in ("cpu", "cuda"))
    np.testing.assert_allclose(gpu.posterior, cpu.posterior, atol=1e-6)
    np.testing.assert_allclose(gpu.log_likelihood, cpu.log_likelihood, rtol=1e-9)

"""Every aggregator of the folder keeps the contract, and what does not is told which promise it breaks."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pytest

from crowdcore import aggregation
from crowdcore.aggregation import Aggregator
from crowdcore.testing import AGGREGATOR_CHECKS, check_aggregator


@pytest.mark.parametrize("only", AGGREGATOR_CHECKS)
@pytest.mark.parametrize("name", aggregation.names())
def test_every_aggregator_keeps_what_it_promises(name, only):
    check_aggregator(name, only)


@pytest.mark.parametrize("name", aggregation.names())
def test_it_is_called_what_it_is_listed_as(name):
    assert aggregation.get(name).name == name


class FirstLabel(Aggregator):
    """The first label of each task, whoever gave it."""

    name: ClassVar[str] = "first-label"
    title: ClassVar[str] = "First label"
    paper: ClassVar[str] = "-"

    def _fit(self, dataset: Any, known: Any, start: Any) -> Any:
        posterior = np.zeros((dataset.n_tasks, dataset.n_classes))
        posterior[dataset.task[::-1], dataset.label[::-1]] = 1
        return self.result(dataset, posterior / np.maximum(posterior.sum(1, keepdims=True), 1), known=known)


@pytest.mark.parametrize("given", [FirstLabel, FirstLabel()], ids=["class", "instance"])
def test_an_own_aggregator_that_breaks_a_promise_is_told_which(given):
    check_aggregator(given, "it describes itself")
    with pytest.raises(AssertionError) as broken:
        check_aggregator(given)
    assert "first-label breaks the promise" in broken.value.__notes__[0]

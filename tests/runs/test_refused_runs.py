from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from crowdcore.core.errors import DataError
from crowdcore.runs import Run, get_run, result
from crowdcore.runs.locks import Ending

Make, Train = Callable[..., Run], Callable[[Run], int]
FAILED = Ending.FAILED.code


@pytest.mark.parametrize(
    ("settings", "words"), [({"lerning_rate": 1}, "lerning_rate"), ({"lr": -1}, "lr"), ({"backbone": "cnn"}, "cnn")]
)
def test_what_is_refused_fails_with_its_sentence(make: Make, train: Train, settings: dict, words: str) -> None:
    run = make(**settings)
    assert train(run) == FAILED
    found = get_run(run.id)
    assert found.state == "failed"
    assert words in found.message
    assert "Traceback" not in found.message
    with pytest.raises(DataError, match="failed without a result"):
        result(run.id)


def test_a_dataset_that_is_gone(make: Make, train: Train, crowd_folder: Path) -> None:
    run = make()
    shutil.rmtree(crowd_folder)
    assert train(run) == FAILED
    assert "small" in get_run(run.id).message

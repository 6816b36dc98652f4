"""Small files in shapes that people have: ``tests/data/cases/NAME`` holds one, and ``expected.txt`` what is right."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from crowdcore.analysis import agreement
from crowdcore.core.errors import DataError
from crowdcore.data import Import, examine

CASES = Path(__file__).resolve().parents[1] / "cases"
ANIMALS = ("bird", "cat", "dog")
CROWD = (24, 4, 90, 0.337748)
"""Tasks, workers, annotations and Krippendorff's α of the crowd that most cases hold."""


def path_of(case: str) -> Path:
    """The one file or folder of a case."""
    (path,) = (path for path in (CASES / case).iterdir() if path.name != "expected.txt")
    return path


def read_case(case: str, **mapping: Any) -> Import:
    """Examine the file of a case."""
    return examine(path_of(case), **mapping)


def summary(found: Import) -> tuple[int, int, int, float]:
    """Tasks, workers, annotations and α, whatever consent the file needs."""
    dataset = found.dataset(accept=True)
    return dataset.n_tasks, dataset.n_workers, dataset.n_annotations, round(agreement(dataset).alpha.value, 6)


def refusal(case: str, **mapping: Any) -> DataError:
    """The error that a case is refused with, before or after its report."""
    try:
        read_case(case, **mapping).dataset()
    except DataError as error:
        return error
    raise AssertionError(f"{case} opens without a question")

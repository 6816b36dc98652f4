"""Trained classifiers as MLflow models, and exhibits in a run of one's own MLflow.

The model is a ``pyfunc``: it takes rows of features (a frame or an array), and returns a frame with ``label`` and
``p_<class>``, the mean over the seeds. This module loads it; nothing is pickled.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

import crowdcore
from crowdcore.runs.record import import_mlflow

if TYPE_CHECKING:
    from crowdcore.core.types import AnyArray
    from crowdcore.exhibits import Exhibit
    from crowdcore.learning.results.result import TrainingResult


class Classifier:
    """Model that MLflow loads, from the result of a training."""

    def __init__(self, result: TrainingResult) -> None:
        self.result = result

    def predict(self, rows: pd.DataFrame | AnyArray, params: dict[str, Any] | None = None) -> pd.DataFrame:
        """Return the most probable class and all probabilities of each row."""
        mean = self.result.predict_proba(np.asarray(rows)).mean(0)
        names = np.array(self.result.classes, object)
        shares = {f"p_{name}": mean[:, c] for c, name in enumerate(names)}
        return pd.DataFrame({"label": names[mean.argmax(1)], **shares})


def _load_pyfunc(path: str) -> Classifier:
    """Load a model for MLflow, which calls this by name."""
    from crowdcore.learning import load_result

    return Classifier(load_result(path))


@contextmanager
def _model(result: TrainingResult) -> Iterator[tuple[Any, dict[str, Any]]]:
    """MLflow's ``pyfunc`` module, and its arguments for a result."""
    import_mlflow()
    with warnings.catch_warnings(), TemporaryDirectory() as folder:
        warnings.simplefilter("ignore")  # what MLflow says about its own use of others
        from mlflow import pyfunc
        from mlflow.models import ModelSignature
        from mlflow.types import Schema, TensorSpec

        place = result.save(Path(folder, "result"))
        needed = [f"crowdcore[learning,runs]=={crowdcore.__version__}"]
        parts = {"loader_module": __name__, "data_path": str(place), "pip_requirements": needed}
        rows = Schema([TensorSpec(np.dtype(np.float32), (-1, *result.input_shape))])
        signed = {"signature": ModelSignature(inputs=rows)} if len(result.input_shape) == 1 else {}  # images vary
        yield pyfunc, {**parts, **signed}


def save_mlflow_model(result: TrainingResult, folder: str | Path, **options: Any) -> Path:
    """Save a trained classifier as an MLflow model; ``mlflow.pyfunc.load_model`` loads it where crowdcore is installed.

    Args:
        result: result of `crowdcore.learning.train` or of a run; the ids of its workers are in the files.
        folder: a new folder.
        options: further arguments of ``mlflow.pyfunc.save_model``, such as ``input_example``.

    Raises:
        MissingExtraError: MLflow is not installed.
    """
    with _model(result) as (pyfunc, parts):
        pyfunc.save_model(str(folder), **{**parts, **options})
    return Path(folder)


def log_mlflow_model(result: TrainingResult, name: str = "model", **options: Any) -> Any:
    """Log a trained classifier as a model into the active run of your MLflow; return its ``ModelInfo``.

    Args:
        result: as in `save_mlflow_model`.
        name: name of the model.
        options: further arguments of ``mlflow.pyfunc.log_model``, such as ``registered_model_name``.

    Raises:
        MissingExtraError: MLflow is not installed.
    """
    with _model(result) as (pyfunc, parts):
        return pyfunc.log_model(name=name, **{**parts, **options})


def log_exhibits(*exhibits: Exhibit) -> list[str]:
    """Log tables (.json, as MLflow shows them) and figures (.html) into the active run of your MLflow.

    Args:
        exhibits: exhibits to log under their names; tables of a view that hides names hold pseudonyms.

    Returns:
        The names of the artefacts.

    Raises:
        MissingExtraError: MLflow is not installed.
    """
    mlflow, written = import_mlflow(), []
    for exhibit in exhibits:
        mlflow.log_table(exhibit.table.reset_index(drop=True), f"{exhibit.name}.json")
        written.append(f"{exhibit.name}.json")
        if exhibit.figure is not None:
            mlflow.log_figure(exhibit.figure, f"{exhibit.name}.html")
            written.append(f"{exhibit.name}.html")
    return written

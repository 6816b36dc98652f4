"""Opening MLflow's record: its schema is created once, and its readers and writers do not wait for each other."""

from __future__ import annotations

import contextlib
import functools
import logging
import os
import sqlite3
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crowdcore.core.errors import CrowdError, DataError, need_extra
from crowdcore.runs.locks import locked
from crowdcore.runs.redaction import redact
from crowdcore.runs.workspace import Workspace

if TYPE_CHECKING:
    from mlflow import MlflowClient

__all__ = ["client_of", "experiment_of"]


def client_of(workspace: Workspace) -> MlflowClient:
    """MLflow's client for a workspace; the first one on an empty workspace makes the database.

    Raises:
        MissingExtraError: MLflow is not installed.
        DataError: the database was made by another version of MLflow, or cannot be read.
    """
    return _client(workspace.tracking_uri, workspace.database)


@functools.lru_cache(maxsize=32)
def _client(uri: str, database: Path | None) -> MlflowClient:
    os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
    os.environ.setdefault("MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR", "false")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what MLflow says about its own use of others
        try:
            import mlflow
        except ModuleNotFoundError as error:
            raise need_extra("Keeping runs", "mlflow") from error
        for name in ("mlflow", "alembic"):
            logging.getLogger(name).setLevel(logging.WARNING)
        if database is not None and not _made(database):
            database.parent.mkdir(parents=True, exist_ok=True)
            with locked(database.with_name(f"{database.name}.lock")):
                if not _made(database):
                    _make(database)
        try:
            client = mlflow.MlflowClient(tracking_uri=uri)
            client.search_experiments(max_results=1)
        except Exception as error:  # whatever lies between MLflow and its database
            if "out-of-date" in str(error):
                raise DataError(
                    "The record of runs was made by another version of MLflow",
                    f"Back it up, then run: mlflow db upgrade sqlite:///{database}",
                    file=database,
                ) from error
            raise CrowdError(f"The record of runs cannot be opened: {redact(str(error))}") from error
    return client


def _made(database: Path) -> bool:
    return database.exists() and database.stat().st_size > 0


def _make(database: Path) -> None:
    """Make the database under another name and move it into place, so that it is there whole or not at all."""
    from mlflow.store.tracking.sqlalchemy_store import SqlAlchemyStore

    draft = database.with_name(f".{database.name}.{os.getpid()}")
    with contextlib.suppress(FileNotFoundError):
        draft.unlink()
    store: Any = SqlAlchemyStore(f"sqlite:///{draft}", str(database.parent / "artifacts"))  # type: ignore[no-untyped-call]
    store.engine.dispose()
    connection = sqlite3.connect(draft)
    connection.execute("PRAGMA journal_mode=WAL")  # kept in the file
    connection.close()
    draft.replace(database)


def experiment_of(workspace: Workspace, dataset: str) -> str:
    """Id of the experiment in which a dataset's runs are kept, made when there is none."""
    from mlflow.exceptions import MlflowException

    client, name = client_of(workspace), experiment_name(dataset)
    found = client.get_experiment_by_name(name)
    if found is None:
        try:
            return str(client.create_experiment(name, artifact_location=_artifacts(workspace)))
        except MlflowException:  # another process was faster
            found = client.get_experiment_by_name(name)
            if found is None:
                raise
    if found.lifecycle_stage == "deleted":
        client.restore_experiment(found.experiment_id)
    return str(found.experiment_id)


def experiment_name(dataset: str) -> str:
    """A dataset's name, also when it was given as a path."""
    return Path(dataset.rstrip("/")).stem if "/" in dataset else dataset


def _artifacts(workspace: Workspace) -> str | None:
    """Next to the database; a server decides by itself."""
    return (workspace.folder / "artifacts").as_uri() if workspace.database else None

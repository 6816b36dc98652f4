"""MLflow's record of runs: opened once, created if there is none; every fault is explained in one sentence."""

from __future__ import annotations

import contextlib
import functools
import logging
import os
import re
import sqlite3
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast
from urllib.parse import quote, unquote, urlparse

from crowdcore.core import files
from crowdcore.core.errors import need_extra
from crowdcore.runs.faults import LostRecordError, RecordError, explain, retry
from crowdcore.runs.locks import locked
from crowdcore.runs.workspace import WAIT, Workspace

if TYPE_CHECKING:
    from mlflow import MlflowClient

_T = TypeVar("_T")
_ROOT = re.compile(r"(.*/artifacts)(/\d+)?")  # an experiment's place, ours or as MLflow itself makes it
_opened: set[Path] = set()  # databases that this process has used
_making = threading.Lock()  # alembic's migrations find their database in a variable of the process


def ask(workspace: Workspace, question: Callable[[], _T]) -> _T:
    """Ask the record of a workspace and return its answer; retry one that is locked or out of reach (`patient`).

    SQLite itself waits for 3 s each time.
    """

    def attempt() -> _T:
        try:
            return question()
        except Exception as error:
            fault = explain(error, workspace)
            if fault is None or fault is error:
                raise
            raise fault from error

    def report(fault: Exception) -> None:
        print(f"{fault} It is tried again for {files.patience:.0f} s.", file=sys.stderr, flush=True)

    return retry(attempt, patience=files.patience, report=report)


class Record:
    """MLflow's client for one workspace, with every method called through `ask`."""

    def __init__(self, client: MlflowClient, workspace: Workspace) -> None:
        self._client, self._workspace = client, workspace

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._client, name)
        return lambda *arguments, **named: ask(self._workspace, lambda: method(*arguments, **named))


def client_of(workspace: Workspace) -> MlflowClient:
    """Return MLflow's client for a workspace; the first one on an empty workspace creates the database.

    Its errors, later ones too, are `RecordError`. A database that was replaced is opened anew.
    """
    database = workspace.database
    if database is None:
        return _client(workspace, workspace.tracking_uri)
    with _faults_of_files(workspace):
        if is_new(workspace):
            if workspace.read_only:
                raise RecordError(workspace.read_only)
            make_database(workspace)
        file = database.stat()
    uri = workspace.tracking_uri
    if workspace.read_only:  # with the driver's name, which keeps MLflow from making a folder called "file:"
        uri = f"sqlite+pysqlite:///{_address(workspace)}&uri=true"
    return _client(workspace, uri, (file.st_dev, file.st_ino))


@functools.lru_cache(maxsize=32)
def _client(workspace: Workspace, uri: str, identity: object = None) -> MlflowClient:
    """Client of one database file, cached by the file's identity."""
    database = workspace.database
    if database is None:
        client = ask(workspace, lambda: _open(uri, False))
    else:
        ask(workspace, lambda: _relocate(workspace))
        client = ask(workspace, lambda: _open(uri, True))
        _opened.add(database)
    return cast("MlflowClient", Record(client, workspace))


def import_mlflow() -> Any:
    """Import MLflow and make it quiet; `MissingExtraError` if it is not installed."""
    os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
    os.environ.setdefault("MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR", "false")
    os.environ.setdefault("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "1")  # `ask` retries, and reports it
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about MLflow's own use of other packages
        try:
            import mlflow
        except ModuleNotFoundError as error:
            raise need_extra("Keeping runs", "mlflow") from error
    for name in ("mlflow", "alembic"):
        logging.getLogger(name).setLevel(logging.WARNING)
    logging.getLogger("mlflow.store.db.utils").setLevel(logging.CRITICAL)  # it prints what it raises
    return mlflow


def _open(uri: str, is_file: bool) -> MlflowClient:
    mlflow = import_mlflow()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        client: Any = mlflow.MlflowClient(tracking_uri=uri)
        if is_file:
            from sqlalchemy import event

            engine = client._tracking_client.store.engine
            engine.dispose()  # connections to a file that was replaced
            if not event.contains(engine, "before_cursor_execute", _impatient):
                event.listen(engine, "before_cursor_execute", _impatient, retval=True)
        client.search_experiments(max_results=1)
    opened: MlflowClient = client
    return opened


def _impatient(
    connection: object, cursor: object, statement: str, parameters: object, context: object, many: bool
) -> tuple[str, object]:
    """Let SQLite wait `WAIT` seconds, not the 20 that MLflow sets before every query."""
    if statement.startswith("PRAGMA busy_timeout"):
        statement = f"PRAGMA busy_timeout = {1000 * WAIT:.0f}"
    return statement, parameters


@contextmanager
def _faults_of_files(workspace: Workspace) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise RecordError(f"The workspace {workspace.folder} cannot be used: {error.strerror}.") from error


def is_new(workspace: Workspace) -> bool:
    """Return True if nothing was ever recorded in a workspace, so that there is no database to open.

    Raises:
        RecordError: the database is empty, out of reach, or gone although there are results or this process used it.
    """
    with _faults_of_files(workspace):
        return _is_new(workspace)


def _is_new(workspace: Workspace) -> bool:
    database = workspace.database
    if database is None:
        return False
    if database.exists():
        if database.stat().st_size:
            return False
        raise LostRecordError(database, "is empty")
    if workspace.owns_record and any(
        any(folder.iterdir()) for name in ("runs", "artifacts") if (folder := workspace.folder / name).is_dir()
    ):
        raise LostRecordError(database, "is missing, but files of runs are there")
    if database in _opened:
        raise RecordError(
            f"The workspace {workspace.folder} was deleted or moved while it was in use. Put it back and try again, "
            "or start anew with CROWDCORE_WORKSPACE set to its new place."
        )
    return True


def make_database(workspace: Workspace) -> None:
    """Create an empty record if there is none, in one of several processes and threads."""
    database = workspace.database
    assert database is not None
    workspace.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    database.parent.mkdir(parents=True, exist_ok=True)
    with locked(database.with_name(f"{database.name}.lock")), _making:
        if not database.exists():
            import_mlflow()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                _make(database)


def _make(database: Path) -> None:
    from mlflow.store.tracking.sqlalchemy_store import SqlAlchemyStore
    from sqlalchemy import Engine, event

    with files.replacing(database) as draft:  # it appears whole or not at all

        def hasten(connection: object, _: object) -> None:  # its hundreds of changes need not reach the disk one by one
            if isinstance(connection, sqlite3.Connection):
                file = connection.execute("PRAGMA database_list").fetchone()[2]
                if file.endswith(draft.name):
                    connection.execute("PRAGMA synchronous=OFF")

        draft.touch(mode=0o600)
        event.listen(Engine, "connect", hasten)
        try:
            store = SqlAlchemyStore(f"sqlite:///{draft}", str(database.parent / "artifacts"))
        finally:
            event.remove(Engine, "connect", hasten)
        store.engine.dispose()
        connection = sqlite3.connect(draft)
        connection.execute("PRAGMA journal_mode=WAL")  # kept in the file; this connection flushes all to the disk
        connection.close()


@contextmanager
def connect(workspace: Workspace) -> Iterator[sqlite3.Connection]:
    """Open SQLite's own connection to the record, in one transaction; it never creates a file."""
    connection = sqlite3.connect(_address(workspace), uri=True, timeout=WAIT)
    with contextlib.closing(connection), connection:
        yield connection


def _address(workspace: Workspace) -> str:
    """SQLite's address of the database; without locks if it is read-only and no writer has it open."""
    database = workspace.database
    assert database is not None
    if not workspace.read_only:
        return f"file:{quote(str(database))}?mode=rw"
    alone = not database.with_name(f"{database.name}-shm").exists()
    return f"file:{quote(str(database))}?mode=ro{'&immutable=1' if alone else ''}"


def _relocate(workspace: Workspace) -> None:
    """Let the record of a moved workspace point to the results here; fail if it cannot be read."""
    place = workspace.folder / "artifacts"
    with connect(workspace) as connection:
        places = [row[0] for row in connection.execute("SELECT DISTINCT artifact_location FROM experiments")]
        if workspace.read_only or not workspace.owns_record:
            return
        for old in {match[1] for uri in places if (match := _ROOT.fullmatch(uri))}:
            before = local_folder(old)
            if before is None or before == place:
                continue
            for table, column in (("experiments", "artifact_location"), ("runs", "artifact_uri")):
                connection.execute(
                    f"UPDATE {table} SET {column} = ? || substr({column}, ?) "
                    f"WHERE {column} = ? OR substr({column}, 1, ?) = ?",
                    (place.as_uri(), len(old) + 1, old, len(old) + 1, f"{old}/"),
                )
            for table, begin in (("tags", '"dataset":"'), ("params", "")):  # uploaded datasets came along
                was, now = (f"{begin}{folder.with_name('datasets')}/" for folder in (before, place))
                connection.execute(
                    f"UPDATE {table} SET value = replace(value, ?, ?) "
                    "WHERE key IN ('crowdcore.spec', 'dataset') AND instr(value, ?)",
                    (was, now, was),
                )


def experiment_of(workspace: Workspace, dataset: str) -> str:
    """Id of the experiment of a dataset's runs, which is created if there is none."""
    client, name = client_of(workspace), experiment_name(dataset)
    experiment = client.get_experiment_by_name(name)
    if experiment is None:
        place = (workspace.folder / "artifacts").as_uri() if workspace.database else None  # a server has its own
        try:
            return str(client.create_experiment(name, artifact_location=place))
        except RecordError:  # another process was faster
            experiment = client.get_experiment_by_name(name)
            if experiment is None:
                raise
    if experiment.lifecycle_stage == "deleted":
        client.restore_experiment(experiment.experiment_id)
    return str(experiment.experiment_id)


def experiment_name(dataset: str) -> str:
    """Name of a dataset given by name or path."""
    return Path(dataset.rstrip("/")).stem if "/" in dataset else dataset


def local_folder(uri: str) -> Path | None:
    """Folder behind the address of a run's artefacts, if it is on a local disk."""
    address = urlparse(uri)
    return Path(unquote(address.path)) if address.scheme in {"", "file"} else None

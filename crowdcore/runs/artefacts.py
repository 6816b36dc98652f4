"""Artefacts of a run: its result, its scores, its predictions (as a table, as a reference), its log."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections import deque
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, cast

import numpy as np
import pandas as pd

from crowdcore.core.errors import DataError, SettingError
from crowdcore.core.files import flush
from crowdcore.learning.curve_metrics import SCORES
from crowdcore.runs.faults import RecordError
from crowdcore.runs.record import client_of, local_folder
from crowdcore.runs.recorder import spread
from crowdcore.runs.run import TAG, Run
from crowdcore.runs.store import entry_of, get_run
from crowdcore.runs.workspace import Workspace

if TYPE_CHECKING:
    from crowdcore.analysis.reference import Reference
    from crowdcore.data.dataset import CrowdDataset
    from crowdcore.data.ratings import Labelled
    from crowdcore.learning.api import Learnt
    from crowdcore.learning.results.result import TrainingResult

_LOG_BYTES = 200_000  # read from the end of a log


def result(run_id: str, *, workspace: Workspace | None = None) -> TrainingResult:
    """Return the result of a run on classes or tags.

    Raises:
        DataError: there is no result (yet), its files are gone, or the run learnt from ratings.
    """
    trained = learnt(run_id, workspace=workspace)
    if trained.numeric:
        raise DataError(f"Run {run_id} learnt from ratings of {trained.dataset}", "This is about classes or tags.")
    return cast("TrainingResult", trained)


def learnt(run_id: str, *, workspace: Workspace | None = None) -> Learnt:
    """Return the result of a run on labels of any kind.

    Raises:
        DataError: there is no result (yet), or its files are gone.
    """
    from crowdcore.learning.results.result_files import load_result

    return load_result(_artefact(run_id, "result", workspace or Workspace.open()))


def predictions(run_id: str, *, workspace: Workspace | None = None) -> pd.DataFrame:
    """Return one row per task: task, split, gold, label, and p_<class>, the mean over seeds of the selected epochs.

    For a run on ratings: task, split, gold and rating, the same mean.

    Raises:
        DataError: there is no result (yet), or its files are gone.
    """
    return pd.read_parquet(_artefact(run_id, "predictions.parquet", workspace or Workspace.open()))


def reference(run_id: str, dataset: CrowdDataset, *, workspace: Workspace | None = None) -> Reference:
    """Return the predictions of a run as a reference, the mean over its seeds at their selected epochs.

    Args:
        run_id: id of a run with a result.
        dataset: the dataset it was trained on.

    Returns:
        The reference ``run:<id>``; tasks without input are unknown.

    Raises:
        DataError: no such run, no result, or another dataset.
    """
    trained = result(run_id, workspace=workspace)
    if trained.fingerprint != dataset.fingerprint:
        raise DataError(
            f"Run {run_id} was trained on {trained.dataset} with other annotations than those of {dataset.name}",
            "Choose a run on this dataset as it is now.",
        )
    return replace(trained.as_reference(dataset), name=f"run:{run_id}")


def export_model(
    run_id: str, folder: Path | str, kind: Literal["torch", "onnx"] = "torch", *, workspace: Workspace | None = None
) -> list[Path]:
    """Write a run's classifier for use without crowdcore; see `crowdcore.learning.results.classifiers.export_model`."""
    from crowdcore.learning.results.classifiers import export_model as write

    return write(result(run_id, workspace=workspace), folder, kind)


def log_lines(run_id: str, n: int = 40, *, workspace: Workspace | None = None) -> list[str]:
    """Return the last lines of a run's log; [] without any."""
    workspace = workspace or Workspace.open()
    path = workspace.run_folder(run_id) / "log.txt"
    if not path.exists():
        path = _download(run_id, "log.txt", workspace)
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - _LOG_BYTES))
            text = file.read().decode("utf-8", "replace")
    except OSError:
        return []
    return list(deque(text.splitlines(), maxlen=n))


def keep_result(run_id: str, trained: Learnt, dataset: Labelled, workspace: Workspace) -> None:
    """Write result and predictions, which readers see whole or not at all."""
    place = workspace.artefact_folder(run_id)
    draft = (place.parent if workspace.owns_record else workspace.run_folder(run_id)) / "result.new"
    shutil.rmtree(draft, ignore_errors=True)
    try:
        trained.save(draft / "result")
        trained.predicted(dataset).to_parquet(draft / "predictions.parquet", index=False)
        client = client_of(workspace)
        if workspace.owns_record:
            _move(draft, place)
        else:
            client.log_artifacts(run_id, str(draft))
        client.set_tag(run_id, f"{TAG}validated_on", trained.validated_on)
        client.set_tag(run_id, f"{TAG}result", "yes")
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _move(draft: Path, place: Path) -> None:
    """Replace the contents of a folder by new ones, once these are on the disk, readable by their owner alone."""
    for path in [draft, *draft.rglob("*")]:
        path.chmod(0o700 if path.is_dir() else 0o600)
        flush(path)
    draft.stat()  # where the workspace was deleted meanwhile, it is not made again
    place.mkdir(mode=0o700, parents=True, exist_ok=True)
    for new in list(draft.iterdir()):
        if (place / new.name).is_dir():
            (place / new.name).rename(draft / f"{new.name}.old")
        new.replace(place / new.name)


def _artefact(run_id: str, name: str, workspace: Workspace) -> Path:
    run = get_run(run_id, workspace=workspace)
    if not run.has_result:
        raise DataError(*_why_none(run))
    path = _download(run_id, name, workspace)
    if not path.exists():
        raise DataError(f"The files of run {run_id} are gone", "Run it again to restore them.")
    return path


def _why_none(run: Run) -> tuple[str, str]:
    if run.state == "queued":
        return f"Run {run.id} waits in the queue", "Its result is there once it has finished."
    if run.state == "running":
        return f"Run {run.id} is running ({run.at})", "Its result is there once it has finished."
    return f"Run {run.id} {run.state} without a result", run.message or "See its log for details."


def _download(run_id: str, name: str, workspace: Workspace) -> Path:
    """Return the path of an artefact on this machine, fetched once from a server; it may not exist."""
    info = entry_of(run_id, workspace).info
    local = workspace.artefact_folder(run_id) if workspace.owns_record else local_folder(info.artifact_uri)
    if local is not None:
        return local / name
    folder = workspace.run_folder(run_id) / "fetched" / str(info.end_time)  # a resumed run ends again
    if not (folder / name).exists():
        folder.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(RecordError, OSError), tempfile.TemporaryDirectory(dir=folder) as draft:
            client_of(workspace).download_artifacts(run_id, name, draft)
            Path(draft, name).replace(folder / name)
    return folder / name


def result_scores(result: Learnt) -> dict[str, float]:
    """Means over seeds, and ``…_std`` from two on: test scores at three epochs, validation scores at the selected one.

    Accuracy for classes, for tags also precision, recall and F1 of spans; MAE, RMSE and R² for ratings.
    """
    scores: dict[str, float] = {}
    for name, score in result.on_test():
        with contextlib.suppress(DataError, SettingError):  # no gold on the test split, no spans
            scores |= spread(f"test_{name}", score().tolist())
    for metric in SCORES if result.validated_on else ():
        if metric in result.curves:
            reached = result.curves[metric][result.selected_epoch - 1, np.arange(len(result.seeds))]
            scores |= spread(f"{metric}_selected", reached.tolist())
    return scores

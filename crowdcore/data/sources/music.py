"""Music: genres of songs labelled on Mechanical Turk."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import numpy as np
import pandas as pd

from crowdcore.core.errors import DataError
from crowdcore.data.dataset import CrowdDataset
from crowdcore.data.rows import Rows
from crowdcore.data.sources._download import unpack
from crowdcore.data.sources.base import RemoteFile, Source, need

CLASSES = ("blues", "classical", "country", "disco", "hiphop", "jazz", "metal", "pop", "reggae", "rock")


class Music(Source):
    """Layout of ``mturk-datasets.tar.gz``: ``music_genre_classification/`` beside another dataset.

    ``music_genre_gold.csv`` (700 training songs) and ``music_genre_test.csv`` (300): column ``id``, 124 features,
    column ``class``. ``mturk_answers.csv``: ``Input.song``, ``WorkerID``, ``Answer.pred_label``. The workers'
    Mechanical Turk ids are replaced by numbers in their alphabetical order.
    """

    name: ClassVar[str] = "music"
    title: ClassVar[str] = "Music (10 genres of GTZAN)"
    paper: ClassVar[str] = "F. Rodrigues, F. Pereira, B. Ribeiro: Learning from multiple annotators, PRL 2013"
    licence: ClassVar[str] = "none stated by the release"
    files: ClassVar[tuple[RemoteFile, ...]] = (RemoteFile("http://fprodrigues.com//mturk-datasets.tar.gz"),)

    def convert(self, files: dict[str, Path], folder: Path) -> CrowdDataset:
        """Read the three tables; songs get their GTZAN file names as ids."""
        wanted = [f"music_genre_{part}.csv" for part in ("gold", "test")] + ["mturk_answers.csv"]
        paths = {f"music_genre_classification/{name}": folder / name for name in wanted}
        unpack(files["mturk-datasets.tar.gz"], lambda name: paths.get(str(name)))
        train, test, answers = (_table(path) for path in paths.values())
        songs = pd.concat([train[["id", "class"]], test[["id", "class"]]], ignore_index=True)
        ids = pd.Index(songs["id"].astype(str))
        workers = sorted(answers["WorkerID"].astype(str).unique())
        task = ids.get_indexer(pd.Index(answers["Input.song"].astype(str)))
        if not ids.is_unique or (task < 0).any():
            raise DataError("mturk_answers.csv names songs that are not in music_genre_gold.csv, or one stands twice")
        split = np.repeat([0, 2], [len(train), len(test)])
        order = np.argsort(task, kind="stable")
        return CrowdDataset(
            self.name,
            CLASSES,
            ids,
            pd.Index([f"w{r:04d}" for r in range(1, len(workers) + 1)]),
            task[order],
            pd.Index(workers).get_indexer(pd.Index(answers["WorkerID"].astype(str)))[order],
            _codes(answers["Answer.pred_label"], "mturk_answers.csv")[order],
            gold=_codes(songs["class"], "music_genre_gold.csv and music_genre_test.csv"),
            split=split,
            features=Rows.from_splits({0: _features(train), 2: _features(test)}, split),
        )


_COLUMNS = {"mturk_answers.csv": {"Input.song", "WorkerID", "Answer.pred_label"}}


def _table(path: Path) -> pd.DataFrame:
    try:
        table = pd.read_csv(need(path, f"music_genre_classification/{path.name}"))
    except (ValueError, pd.errors.ParserError) as error:
        raise DataError(f"{path.name} is not a table ({error})") from error
    if missing := _COLUMNS.get(path.name, {"id", "class"}) - set(table):
        raise DataError(f"{path.name} has no column {', '.join(sorted(missing))}")
    return table


def _codes(names: pd.Series[str], file: str) -> np.ndarray:
    codes = pd.Index(CLASSES).get_indexer(pd.Index(names.astype(str).str.strip().str.lower()))
    if (codes < 0).any():
        raise DataError(f"{file} holds {names[codes < 0].iloc[0]!r}, which is not a genre of the dataset")
    return np.asarray(codes)


def _features(table: pd.DataFrame) -> np.ndarray:
    try:
        return table.drop(columns=["id", "class"]).to_numpy(np.float32)
    except ValueError as error:
        raise DataError(f"A feature of the songs is not a number ({error})") from error

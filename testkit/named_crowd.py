"""A crowd whose workers have unmistakable names and e-mails, with runs on it, and every page to search for them."""

from __future__ import annotations

import csv
import io
import re
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from crowdcore import read_dataset
from crowdcore.data.dataset import CrowdDataset, SimulatedTruth
from crowdcore.data.writers import write_folder
from testkit.crowds import simulate_crowd
from testkit.recorded_runs import invented, record

__all__ = ["NAME", "SIDE", "addresses", "named_crowd", "names_in", "record_named_crowd", "unpacked", "written"]

NAME, SIDE = "ZaphodQ", "TrillianQ"
_ANY = re.compile(rf"({NAME}|{SIDE})\w*".encode(), re.IGNORECASE)
N_WORKERS = 12


def named_crowd() -> CrowdDataset:
    """Simulated truth, splits, odd workers (one label only, always the same label), and names that must not be seen."""
    crowd, rng = simulate_crowd(120, n_workers=N_WORKERS), np.random.default_rng(0)
    lone, bored = (crowd.worker == worker for worker in (3, 5))
    crowd = replace(crowd, label=np.where(bored, 1, crowd.label), split=(np.arange(120) % 5 // 3).astype(np.int8) * 2)
    crowd = crowd.where(~lone | (np.cumsum(lone) == 1))
    n = crowd.n_annotations
    extra = {"e_mail": [f"{SIDE}{r:02d}@example.org" for r in crowd.worker], "seconds": rng.integers(1, 60, n)}
    truth = SimulatedTruth(
        worker_confusion=rng.dirichlet(np.ones(4), (N_WORKERS, 4)),
        common_confusion=rng.dirichlet(np.ones(4), 4),
        omega=rng.random(n),
        used_common=rng.random(n) < 0.5,
        worker_role=(*[""] * (N_WORKERS - 1), f"copier of {NAME}01"),
    )
    names = pd.Index([f"{NAME}{r:02d}" for r in range(N_WORKERS)])
    return replace(crowd, name="named", worker_ids=names, extra=pd.DataFrame(extra), truth=truth)


def written() -> bytes:
    """The same crowd as a CSV to upload, with one name in two spellings."""
    crowd = named_crowd()
    out = io.StringIO()
    rows = csv.writer(out)
    rows.writerow(["task", "worker", "label", "gold", "e_mail", "seconds"])
    for j, (task, worker, label) in enumerate(
        zip(crowd.task, crowd.worker_ids[crowd.worker], crowd.label, strict=True)
    ):
        assert crowd.extra is not None
        spelled = f" {worker}" if j == 7 else worker
        given = crowd.task_ids[task], spelled, crowd.classes[label], crowd.classes[crowd.gold[task]]
        rows.writerow([*given, *crowd.extra.iloc[j]])
    return out.getvalue().encode()


def record_named_crowd(datasets: Path, workspace: Path) -> list[str]:
    """Write the crowd as a dataset, and record two finished runs on it; return their ids."""
    crowd = read_dataset(write_folder(named_crowd(), datasets / "named"))
    return [record(workspace, invented(crowd, method, seeds=(0, 1)), crowd) for method in ("trace", "conal")]


def addresses(dataset: str, runs: list[str]) -> list[tuple[str, dict[str, str | list[str]]]]:
    """Every page and tab, as (page, parameters of its address); workers are addressed by their real names."""
    worker, other = {"worker": f"{NAME}01"}, {"other": f"{NAME}02"}
    cell = {"true": "class 0", "given": "class 1"}
    args: list[tuple[str, dict[str, str | list[str]]]] = [
        ("overview", {}),
        ("overview", {"view": "Numbers"}),
        ("mistakes", {**cell, "behind": "workers"}),
        ("mistakes", {**cell, "behind": "tasks", "beside": "majority-vote"}),
        ("annotators", {"view": "Distances", **worker, **other}),
        ("annotators", {"view": "Ranking", "without": [f"{NAME}01", f"{NAME}02"]}),
        ("annotators", {"view": "One worker", **worker, **other}),
        ("annotators", {"view": "Together"}),
        ("aggregate", {"methods": ["majority-vote", "dawid-skene"], "result": "dawid-skene", **worker}),
        ("next", {"available": [f"{NAME}01", f"{NAME}02"]}),
        ("tasks", {**worker}),
        ("tasks", {"task": "t00007"}),
        ("train", {}),
        ("sandbox", {}),
        ("train", {"runs": runs}),
        *(("compare", {"view": view, "runs": runs, **worker}) for view in ("Accuracy", "Recovery")),
        ("confusions", {"view": "Matrices", "runs": runs[1:], **worker}),
        ("confusions", {"view": "Workers", "runs": runs[1:], **worker}),
        *(("omega", {"view": view, "runs": runs[1:], **worker}) for view in ("Tasks", "Workers")),
        ("report", {"runs": runs}),
    ]
    return [(page, {"dataset": dataset, "names": "hidden", **view}) for page, view in args]


def unpacked(content: bytes) -> bytes:
    """A file's bytes; of an archive also its files and their names."""
    if not zipfile.is_zipfile(io.BytesIO(content)):
        return content
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return b"\n".join([name.encode() + b"\n" + unpacked(archive.read(name)) for name in archive.namelist()])


def names_in(*contents: bytes) -> list[str]:
    """Return the names of workers and values of extra columns that some bytes contain."""
    return sorted({match.group().decode() for content in contents for match in _ANY.finditer(unpacked(content))})

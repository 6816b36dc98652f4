"""Traces of runs in the workspace and the record: no names, locks, marks, redacted text."""

from __future__ import annotations

import getpass
import shutil
import socket
from collections.abc import Callable
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import crowdcore as cc
from crowdcore.core.errors import DataError
from crowdcore.data.writers import write_folder
from crowdcore.runs import Run, get_run, reference, result
from crowdcore.runs.artefacts import result_scores
from crowdcore.runs.faults import redact
from crowdcore.runs.locks import Ending, is_locked, locked
from crowdcore.runs.train_process import environment
from testkit.named_crowd import NAME, SIDE, names_in
from tests.learning.helpers import featured_crowd
from tests.learning.made_up import made_up


@pytest.fixture
def crowd_folder(tmp_path: Path) -> Path:
    """A crowd to train on, whose workers have names; one of them gives a single label, one always the same class."""
    crowd = featured_crowd()
    extra = pd.DataFrame({"mail": [f"{SIDE}{r}@example.org" for r in crowd.worker]})
    names = pd.Index([f"{NAME}{r}" for r in range(crowd.n_workers)])
    (tmp_path / "data").mkdir()
    return write_folder(replace(crowd, worker_ids=names, extra=extra), tmp_path / "data" / "named")


def test_a_run_keeps_no_names(make, train, workspace, crowd_folder: Path, capfd, caplog) -> None:
    assert names_in((crowd_folder / "annotations.parquet").read_bytes())
    assert train(make("conal", seeds=(0,), epochs=1)) == 0
    printed = capfd.readouterr()
    names = {str(file): names_in(file.read_bytes()) for file in workspace.folder.rglob("*") if file.is_file()}
    assert any("mlflow.db" in file for file in names)
    assert any("predictions" in file for file in names)
    assert not any(names.values())
    assert not names_in(printed.out.encode(), printed.err.encode(), caplog.text.encode())


def test_versions_and_machine_but_nothing_private(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_TOKEN", "tok-0123456789")
    facts = environment()
    assert facts["torch"] == version("torch")
    assert facts["mlflow"] == version("mlflow")
    assert {"crowdcore", "python", "system", "machine", "cores"} <= facts.keys()
    text = " ".join(facts.values())
    for private in ("tok-0123456789", socket.gethostname(), str(Path.home()), f"/{getpass.getuser()}"):
        assert private not in text


def test_values_that_look_like_keys_and_passwords_in_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    secrets = {"HF_TOKEN": "hf_abcdefgh", "AWS_SECRET_ACCESS_KEY": "a/b+c=defgh", "DB_PASSWORD": "correct horse"}
    for name, value in (secrets | {"openai_api_key": "sk-123456"}).items():
        monkeypatch.setenv(name, value)
        assert redact(f"it was {value}!") == f"it was <{name}>!"
    for name, value in (("SHORT_TOKEN", "a"), ("EDITOR", "nano-nano")):
        monkeypatch.setenv(name, value)
        assert redact(f"it was {value}!") == f"it was {value}!"
    assert redact("postgresql://me:s3cret@host/db and http://host/a@b") == "postgresql://…@host/db and http://host/a@b"


def test_one_holder_at_a_time_and_an_error_inside_lets_go(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    assert not is_locked(path)
    assert not path.exists()
    with locked(path):
        assert is_locked(path)
        with pytest.raises(BlockingIOError), locked(path, wait=0):
            pass
    assert not is_locked(path)
    with pytest.raises(KeyError), locked(path, wait=0):
        raise KeyError
    assert not is_locked(path)


def test_accuracies_are_means_over_seeds_at_their_epochs() -> None:
    result = replace(made_up(featured_crowd(60)), selected_epoch=np.array([1, 3, 6]))
    scores = result_scores(result)
    for at in ("selected", "last", "best"):
        reached = result.accuracy("test", at=at)
        assert scores[f"test_accuracy_{at}"] == pytest.approx(reached.mean())
        assert scores[f"test_accuracy_{at}_std"] == pytest.approx(reached.std(ddof=1))
    valid = [result.curves["valid_accuracy"][epoch - 1, seed] for seed, epoch in enumerate((1, 3, 6))]
    assert scores["valid_accuracy_selected"] == pytest.approx(np.mean(valid))
    assert scores["valid_accuracy_selected_std"] == pytest.approx(np.std(valid, ddof=1))


def test_one_seed_has_no_deviation_and_nothing_selected_no_validation() -> None:
    result = replace(made_up(featured_crowd(60), seeds=(4,)), validated_on="")
    assert not [name for name in result_scores(result) if name.endswith("_std") or name.startswith("valid")]


def test_a_run_is_a_soft_reference(make: Callable[..., Run], train: Callable[[Run], int]) -> None:
    run = make()
    train(run)
    data, kept = cc.read_dataset(run.spec.dataset), result(run.id)
    truth = reference(run.id, data)
    assert truth.name == f"run:{run.id}"
    mean = kept.probabilities["selected"].astype(float).mean(0)
    np.testing.assert_allclose(truth.posterior[kept.task], mean / mean.sum(1, keepdims=True))
    assert (truth.labels[kept.task] == mean.argmax(1)).all()
    shared = cc.analysis.shared_mistakes(data, truth)
    assert shared.reference == truth.name
    for given in (get_run(run.id), run.id, truth.name):
        np.testing.assert_array_equal(cc.analysis.resolve_reference(data, given).posterior, truth.posterior)


def test_only_the_dataset_that_it_was_trained_on(make: Callable[..., Run], train: Callable[[Run], int]) -> None:
    run = make(seeds=(0,), epochs=1)
    train(run)
    data = cc.read_dataset(run.spec.dataset)
    with pytest.raises(DataError, match="other annotations"):
        reference(run.id, data.where(np.arange(data.n_annotations) > 0))
    with pytest.raises(DataError, match="There is no run"):
        reference("0" * 32, data)


Make, Train = Callable[..., Run], Callable[[Run], int]
FAILED = Ending.FAILED.code


@pytest.mark.parametrize(
    ("settings", "words"), [({"lerning_rate": 1}, "lerning_rate"), ({"lr": -1}, "lr"), ({"backbone": "cnn"}, "cnn")]
)
def test_what_is_refused_fails_with_its_sentence(make: Make, train: Train, settings: dict, words: str) -> None:
    run = make(**settings)
    assert train(run) == FAILED
    record = get_run(run.id)
    assert record.state == "failed"
    assert words in record.message
    assert "Traceback" not in record.message
    with pytest.raises(DataError, match="failed"):
        result(run.id)


def test_a_dataset_that_is_gone(make: Make, train: Train, crowd_folder: Path) -> None:
    run = make()
    shutil.rmtree(crowd_folder)
    assert train(run) == FAILED
    assert crowd_folder.name in get_run(run.id).message

"""Results: their contents, also after saving and loading, and classifiers exported from them."""

from __future__ import annotations

import importlib.util
import pickle
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from crowdcore.core.errors import DataError, MissingExtraError, SettingError
from crowdcore.core.types import AnyArray
from crowdcore.data.rows import Rows
from crowdcore.learning import TrainingResult, load_result, train
from crowdcore.learning.results.classifiers import export_model
from crowdcore.learning.training.metrics import accuracy
from testkit.training import train_as
from tests.learning.helpers import featured_crowd, same_results


@pytest.fixture(scope="module")
def crowd():
    return featured_crowd(n_tasks=90)


@pytest.fixture(scope="module")
def result(crowd):
    return train(crowd, "conal", seeds=3, epochs=6, batch_size=16, lr=0.01)


def test_accuracies_are_of_the_epochs_they_name(result, crowd):
    test = result.curves["test_accuracy"]
    s = np.arange(3)
    np.testing.assert_allclose(result.accuracy("test"), test[result.selected_epoch - 1, s], atol=1e-6)
    np.testing.assert_allclose(result.accuracy("test", at="last"), test[-1], atol=1e-6)
    np.testing.assert_allclose(result.accuracy("test", at="best"), test.max(0))
    accuracy_first_then_nll = result.curves["valid_accuracy"] - 1e-6 * result.curves["valid_nll"]
    assert np.array_equal(result.selected_epoch - 1, accuracy_first_then_nll.argmax(0))
    gold = crowd.gold[crowd.split == 2]
    np.testing.assert_allclose(accuracy(result.posterior("test"), gold), result.accuracy("test"))
    assert result.accuracy("train").shape == (3,)
    assert result.scores().accuracy.to_list() == result.accuracy().tolist()
    with pytest.raises(SettingError, match="split"):
        result.accuracy("dev")
    with pytest.raises(SettingError, match="at"):
        result.accuracy("train", at="best")


def test_nothing_selects_when_that_is_asked_for(crowd):
    result = train(crowd, "vanilla", seeds=2, epochs=7, lr=0.05, select_on="none")
    assert result.validated_on == ""
    assert result.selected_epoch.tolist() == result.last_epoch.tolist() == [7, 7]
    assert np.array_equal(result.probabilities["selected"], result.probabilities["last"])
    assert "valid_accuracy" in result.curves


def test_history_is_long(result):
    history = result.history
    assert list(history.columns) == ["seed", "epoch", "split", "metric", "value"]
    loss = history[(history.metric == "loss") & (history.seed == 1)]
    np.testing.assert_allclose(loss.value, result.curves["loss"][:, 1])
    assert set(history.split) == {"train", "valid", "test"}
    assert {"cross_entropy", "distance", "accuracy", "nll"} <= set(history.metric)


def test_predictions_on_other_tasks(result, crowd):
    features = np.asarray(crowd.features)
    predicted = result.predict_proba(features)
    np.testing.assert_allclose(predicted[:, result.task], result.probabilities["selected"], atol=1e-5)
    np.testing.assert_allclose(
        result.mean_posterior(crowd.n_tasks), predicted.mean(0) / predicted.mean(0).sum(1, keepdims=True), atol=1e-5
    )
    with pytest.raises(SettingError, match="features"):
        result.predict_proba(features[:, :3])
    with pytest.raises(DataError, match="NaN"):
        result.predict_proba(np.full_like(features, np.nan))


def test_save_and_load(tmp_path, crowd):
    """Every method's result is saved in its contract, too."""
    result = train(crowd, "auto", seeds=2, epochs=2, holdout=0.2, select_on="holdout", chosen="dl-em")
    loaded = load_result(result.save(tmp_path / "run"))
    same_results(loaded, result, np.asarray(crowd.features)[:5])
    for path in (tmp_path / "run").iterdir():
        assert path.suffix in {".json", ".parquet", ".safetensors"}
        with pytest.raises(Exception):  # noqa: B017 - whatever it is, it is no pickle
            pickle.loads(path.read_bytes())


def test_loading_what_is_no_result(tmp_path):
    with pytest.raises(DataError, match="result"):
        load_result(tmp_path)


def test_no_gold_no_accuracy(crowd):
    blind = train(replace(crowd, gold=None), "vanilla", seeds=1, epochs=1, select_on="none")
    with pytest.raises(DataError, match="gold"):
        blind.accuracy("test")
    assert blind.selected_epoch.tolist() == [1]


ONLY_ITS_NEEDS = """
import runpy, sys
for name in ("crowdcore", "pandas", "scipy", "pyarrow", "pydantic", "sklearn", "torchvision"):
    sys.modules[name] = None
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def trained(rows: AnyArray | None = None, seeds: tuple[int, ...] = (0, 3), **settings: Any) -> TrainingResult:
    crowd = featured_crowd()
    if rows is not None:
        crowd = replace(crowd, features=Rows.from_array(rows))
    return train_as(crowd, "crowd-layer", seeds=seeds, epochs=1, device="cpu", **settings)


def script(folder: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("predict", folder / "predict.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def images(dtype: str, *shape: int) -> AnyArray:
    drawn = np.random.default_rng(0).integers(0, 256, (60, *shape))
    return drawn.astype(dtype) if dtype == "uint8" else (drawn / 255).astype(dtype)


@pytest.mark.parametrize(
    ("rows", "settings"),
    [
        (None, {"backbone_settings": {"hidden": 7}}),
        (None, {"backbone_settings": {"hidden": 7, "batch_norm": True}}),
        (None, {"backbone": "linear", "standardise": True}),
        (images("uint8", 16, 16), {"backbone": "cnn", "backbone_settings": {"width": 4, "hidden": 8}}),
        (images("float32", 16, 16, 3), {"backbone": "cnn", "backbone_settings": {"width": 4}, "augment": "affine"}),
        (images("uint8", 8, 8, 3), {"backbone": "resnet18"}),
    ],
    ids=["mlp", "batch norm", "standardised", "bytes", "augmented", "residual"],
)
def test_the_script_says_what_the_result_says(rows: AnyArray | None, settings: dict[str, Any], tmp_path: Path) -> None:
    result = trained(rows, **settings)
    written = export_model(result, tmp_path / "model")
    assert {p.name for p in written} == {
        "predict.py",
        "preparation.safetensors",
        "seed-0.safetensors",
        "seed-3.safetensors",
    }
    shown = np.asarray(featured_crowd().features) if rows is None else rows
    program = script(tmp_path / "model")
    assert tuple(program.CLASSES) == result.classes
    for n in (1, 60):
        np.testing.assert_allclose(
            program.predict_proba(shown[:n]), result.predict_proba(shown[:n]), rtol=1e-5, atol=1e-6
        )
    np.testing.assert_allclose(program.predict_proba(shown, chunk=7), result.predict_proba(shown), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("method", "settings"), [("gaussian-em", {"gamma": 0}), ("auto", {"chosen": "0.6 gaussian-em + 0.4 dl-em^0.5"})]
)
@pytest.mark.parametrize("positive", [False, True], ids=["ranks", "square roots"])
def test_the_script_says_what_gaussian_classes_say(method, settings, positive, tmp_path):
    crowd = featured_crowd()
    shown = np.abs(np.asarray(crowd.features)) if positive else np.asarray(crowd.features)
    crowd = replace(crowd, features=Rows.from_array(shown))
    result = train(crowd, method, seeds=2, epochs=1, device="cpu", select_on="none", **settings)
    export_model(result, tmp_path)
    np.testing.assert_allclose(script(tmp_path).predict_proba(shown), result.predict_proba(shown), rtol=1e-4, atol=1e-5)


def test_what_leaves_computes_in_float32(tmp_path: Path) -> None:
    result = trained(precision="bfloat16", record=False, backbone_settings={"hidden": 7})
    export_model(result, tmp_path)
    shown = np.asarray(featured_crowd().features)
    np.testing.assert_allclose(script(tmp_path).predict_proba(shown), result.predict_proba(shown), atol=0.02)


def test_the_script_runs_with_torch_safetensors_and_numpy_alone(tmp_path: Path) -> None:
    result = trained(backbone_settings={"hidden": 7})
    export_model(result, tmp_path / "model")
    shown = np.asarray(featured_crowd().features)
    np.save(tmp_path / "rows.npy", shown)
    arguments = [str(tmp_path / name) for name in ("model/predict.py", "rows.npy", "p.npy")]
    command = [sys.executable, "-c", ONLY_ITS_NEEDS, *arguments]
    subprocess.run(command, check=True)
    np.testing.assert_allclose(np.load(tmp_path / "p.npy"), result.predict_proba(shown).mean(0), rtol=1e-5, atol=1e-6)


def test_names_of_classes_stay_text(tmp_path: Path) -> None:
    names = ('"""\nraise SystemExit', "{x}'\\", "# NETWORK")
    export_model(replace(trained(), classes=names, dataset=names[0]), tmp_path)
    assert tuple(script(tmp_path).CLASSES) == names


def test_onnx_says_the_same_or_names_its_extra(tmp_path: Path) -> None:
    result = trained(standardise=True)
    if importlib.util.find_spec("onnxruntime") is None or importlib.util.find_spec("onnxscript") is None:
        with pytest.raises(MissingExtraError, match=r"crowdcore\[onnx\]"):
            export_model(result, tmp_path, "onnx")
        return
    import onnxruntime

    (path,) = export_model(result, tmp_path, "onnx")
    shown = np.asarray(featured_crowd().features)
    session = onnxruntime.InferenceSession(str(path))
    for n in (1, 60):
        (output,) = session.run(None, {"rows": shown[:n]})
        np.testing.assert_allclose(output, result.predict_proba(shown[:n]), rtol=1e-4, atol=1e-6)


def test_no_other_kind(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="kind"):
        export_model(trained(), tmp_path, "pickle")  # type: ignore[arg-type]

"""Classifiers of a finished run: predictions on tasks it has not seen, and export as a script or as ONNX."""

from __future__ import annotations

import copy
import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import torch
from safetensors.torch import save_file
from torch import Tensor, nn

from crowdcore.core.errors import DataError, SettingError, missing_extra
from crowdcore.core.types import AnyArray, FloatArray, IntArray
from crowdcore.learning import methods
from crowdcore.learning.networks.network import Ensemble, Reduced, make_network
from crowdcore.learning.settings import TrainSettings, drop_retired

if TYPE_CHECKING:
    from crowdcore.learning.results.result import TrainingResult

_CHUNK = 4096
_PREFIX = "classifier."


def predict_proba(result: TrainingResult, features: AnyArray) -> FloatArray:
    """(S, n, C) float32 class probabilities, on the CPU.

    Args:
        result: a finished run.
        features: (n, *row shape) rows as the dataset stores them.

    Raises:
        SettingError: rows of another shape than those trained on.
        DataError: NaN or infinite values.
    """
    features = np.asarray(features)
    if features.ndim < 2 or result.preparation.input_shape(features.shape[1:]) != result.input_shape:
        raise SettingError("features", f"be rows for inputs of shape {result.input_shape}", features.shape)
    if features.dtype.kind == "f" and not np.isfinite(features).all():
        raise DataError("The features hold NaN or infinite values", "Fill or drop them first.")
    parts = []
    for classifier in classifiers(result):
        with torch.no_grad():
            pieces = [
                torch.softmax(classifier(result.preparation(torch.from_numpy(piece))), -1)
                for piece in np.split(features, _cuts(features, result.training["backbone"] == "tagger"))
            ]
        parts.append(torch.cat(pieces).numpy())
    return np.stack(parts)


def _cuts(features: AnyArray, words: bool) -> AnyArray:
    """Rows at which to cut: every `_CHUNK`, or at the next sentence, whose number is the last column."""
    cuts = np.arange(_CHUNK, len(features), _CHUNK)
    if not words:
        return cuts
    begins = np.append(np.flatnonzero(np.diff(features[:, -1])) + 1, len(features))
    places = np.unique(begins[np.searchsorted(begins, cuts)])
    return places[places < len(features)]


def classifiers(result: TrainingResult) -> Iterator[nn.Module]:
    """The selected classifier of every seed, from prepared inputs to logits of the named classes, on the CPU."""
    training = TrainSettings(**drop_retired(result.training))
    n_networks = result.settings.get("networks", 1)
    for s in range(len(result.seeds)):
        with torch.random.fork_rng(devices=[]):
            network = make_network(training, result.input_shape)
            method, n_classes = methods.get(result.method), len(result.classes)
            own = method.Settings(**{k: v for k, v in result.settings.items() if k in method.Settings.model_fields})
            classifier: Any = method.make_classifier(network, n_classes, result.n_workers, own)
            if n_networks > 1 and not method.candidates:  # of gaussian-em in crowdcore 0.2
                classifier.network = Ensemble(network, n_classes, n_networks)
        state = {k.removeprefix(_PREFIX): v[s] for k, v in result.model.items() if k.startswith(_PREFIX)}
        classifier.load_state_dict({k: torch.tensor(v) for k, v in state.items()})
        order = result.names["selected"][s]
        same = bool((order == np.arange(len(order))).all())
        yield (classifier if same else nn.Sequential(classifier, Named(order))).eval()


class Named(nn.Module):
    """Logits in the order of the class names.

    Args:
        order: (C,) the latent class behind each class.
    """

    order: Tensor

    def __init__(self, order: IntArray) -> None:
        super().__init__()
        self.register_buffer("order", torch.from_numpy(np.ascontiguousarray(order)))

    def forward(self, logits: Tensor) -> Tensor:
        """(B, C) -> (B, C)."""
        return logits.index_select(-1, self.order)


Kind = Literal["torch", "onnx"]

_SCRIPT = Path(__file__).with_name("export_script.txt")


def export_model(result: TrainingResult, folder: Path | str, kind: Kind = "torch") -> list[Path]:
    """Write the selected model of every seed.

    Args:
        result: of a finished run.
        folder: created if it does not exist.
        kind: ``"torch"``: ``seed-<n>.safetensors`` (state dictionaries), ``preparation.safetensors`` and
            ``predict.py``, which gives what `TrainingResult.predict_proba` gives. ``"onnx"``: ``model.onnx`` from
            float32 rows (images: height × width × channels in 0…1) to probabilities (S, n, C).

    Returns:
        The files written.

    Raises:
        SettingError: no such kind.
        MissingExtraError: ONNX without its packages.
    """
    if kind not in {"torch", "onnx"}:
        raise SettingError("kind", "be 'torch' or 'onnx'", kind)
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    modules = [_in_float32(m) for m in classifiers(result)]
    return _as_script(result, modules, folder) if kind == "torch" else [_as_onnx(result, modules, folder)]


def _in_float32(classifier: nn.Module) -> nn.Module:
    """Undo reduced precision, which is for training only."""
    for module in classifier.modules():
        if isinstance(module, Reduced):
            module.forward = module.network.forward  # type: ignore[method-assign]
    return classifier


def _as_script(result: TrainingResult, modules: list[nn.Module], folder: Path) -> list[Path]:
    names, body = _traced(modules[0], result.input_shape)
    written = []
    for seed, module in zip(result.seeds, modules, strict=True):
        state = module.state_dict()
        written.append(folder / f"seed-{seed}.safetensors")
        save_file({name: state[name].contiguous().clone() for name in names.values()}, written[-1])
    written.append(folder / "preparation.safetensors")
    scale = {"mean": result.preparation.mean, "scale": result.preparation.scale}
    save_file({k: torch.from_numpy(np.ascontiguousarray(v)) for k, v in scale.items()}, written[-1])
    about = {"method": result.method, "dataset": result.dataset, "fingerprint": result.fingerprint}
    values = {
        "ABOUT": about | {"versions": result.versions},
        "CLASSES": list(result.classes),
        "SEEDS": list(result.seeds),
        "IMAGE": result.preparation.image,
        "INPUT_SHAPE": result.input_shape,
    }
    text = _SCRIPT.read_text(encoding="utf-8")
    constants = "\n".join(f"{name} = {value!r}" for name, value in values.items())
    unpacked = [f"{local} = w[{name!r}]" for local, name in names.items()]
    lines = "\n".join(f"    {line}" for line in [*unpacked, *body])
    written.append(folder / "predict.py")
    written[-1].write_text(text.replace("# CONSTANTS", constants).replace("    # NETWORK", lines), encoding="utf-8")
    return written


def _traced(module: nn.Module, input_shape: tuple[int, ...]) -> tuple[dict[str, str], list[str]]:
    """The classifier as torch calls: local name -> name in the state dictionary, and the lines of a function of x."""
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        batch = torch.export.Dim.DYNAMIC
        program = torch.export.export(module.eval(), (torch.zeros(3, *input_shape),), dynamic_shapes=({0: batch},))
    signature = program.graph_signature
    names = {**signature.inputs_to_parameters, **signature.inputs_to_buffers}
    graph = copy.deepcopy(program.graph)
    for node in [n for n in graph.nodes if "assert" in str(n.target) and not n.users]:
        graph.erase_node(node)  # PyTorch's checks of types have no place in a script
    inputs = [n for n in graph.nodes if n.op == "placeholder"]
    graph.set_codegen(torch.fx.graph.CodeGen())
    code = graph.python_code("self").src
    lines = [re.sub(r";\s+\w+ = .*None$", "", line.strip()) for line in code.splitlines() if line.strip()]
    start = next(k for k, line in enumerate(lines) if line.startswith("def forward"))
    written = re.findall(r"(\w+)[^,]*", lines[start].partition("self, ")[2].rpartition(")")[0])
    locals_of = dict(zip((n.name for n in inputs), written, strict=True))
    used = {locals_of[n.name]: names[n.name] for n in inputs if n.name in names and n.users}
    (x,) = [locals_of[n.name] for n in inputs if n.name not in names]
    body = [re.sub(r"return \((\w+),\)", r"return \1", line) for line in lines[start + 1 :]]
    return used, [f"{x} = x", *body] if x != "x" else body


class _Whole(nn.Module):
    """Model from stored rows to the probabilities of every seed."""

    mean: Tensor
    scale: Tensor

    def __init__(self, result: TrainingResult, modules: list[nn.Module]) -> None:
        super().__init__()
        self.models = nn.ModuleList(modules)
        self.image = result.preparation.image
        self.register_buffer("mean", torch.from_numpy(result.preparation.mean))
        self.register_buffer("scale", torch.from_numpy(result.preparation.scale))

    def forward(self, rows: Tensor) -> Tensor:
        """(n, *row shape) float32 -> (S, n, C)."""
        x = (rows - self.mean) / self.scale
        x = x.movedim(-1, -3) if self.image else x
        return torch.stack([torch.softmax(model(x), -1) for model in self.models])


def _as_onnx(result: TrainingResult, modules: list[nn.Module], folder: Path) -> Path:
    if missing := missing_extra("Exporting to ONNX", "onnx", "onnxscript"):
        raise missing
    shape = result.input_shape
    row = (*shape[1:], shape[0]) if result.preparation.image else shape
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            _Whole(result, modules).eval(),
            (torch.zeros(3, *row),),
            str(folder / "model.onnx"),
            input_names=["rows"],
            output_names=["probabilities"],
            dynamic_shapes=({0: torch.export.Dim.DYNAMIC},),
            dynamo=True,
            external_data=False,
            verbose=False,
        )
    return folder / "model.onnx"

"""Export a trained classifier for use without crowdcore: tensors and a script, or ONNX."""

from __future__ import annotations

import copy
import re
import warnings
from pathlib import Path
from typing import Literal

import numpy as np
import torch
from safetensors.torch import save_file
from torch import Tensor, nn

from crowdcore.core.errors import SettingError, missing_extra
from crowdcore.learning.networks.network import Reduced
from crowdcore.learning.results.predictor import classifiers
from crowdcore.learning.results.result import TrainingResult

Kind = Literal["torch", "onnx"]

_SCRIPT = Path(__file__).with_name("export_script.txt")


def export_model(result: TrainingResult, folder: Path | str, kind: Kind = "torch") -> list[Path]:
    """Write the selected model of every seed.

    Args:
        result: of a finished run.
        folder: made if it is not there.
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
    """Reduced precision is the trainer's business; what is handed on computes in float32."""
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
        graph.erase_node(node)  # what PyTorch checks of types on the way has no place in a script
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
    """From stored rows to the probabilities of every seed."""

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

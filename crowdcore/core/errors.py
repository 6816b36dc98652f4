"""One phrasing for every refusal: which argument, which value, and what would be right."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from importlib.util import find_spec
from pathlib import Path
from typing import Any


class CrowdError(ValueError):
    """A refusal in one clear sentence; the CLI prints it and exits with 2, the app shows it in place."""

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (type(self), self.args, self.__dict__)


def _again(kind: type[CrowdError], args: tuple[object, ...], state: dict[str, object]) -> CrowdError:
    """A refusal that comes from another process, its sentence as it was phrased there."""
    refusal = kind.__new__(kind)
    refusal.args = args
    refusal.__dict__.update(state)
    return refusal


class SettingError(CrowdError):
    """An argument or a setting that cannot be: "`n_classes` must be at least 2, but got 1. Remedy."."""

    def __init__(self, argument: str, must: str, got: object, remedy: str = "") -> None:
        self.argument, self.got = argument, got
        super().__init__(f"`{argument}` must {must}, but got {got!r}. {remedy}".rstrip())


class DataError(CrowdError):
    """Something wrong in a file or table: says what, where (file, row, column) and what would be right.

    Args:
        what: the fault, one sentence without its full stop.
        remedy: what would be right, one sentence.
        file: the file at fault.
        row: 1-based row of the data (a CSV's header is row 0 of that count), if one row is at fault.
        column: the column at fault.
        header: whether ``row`` is counted below a header, which the sentence then says.
    """

    def __init__(
        self,
        what: str,
        remedy: str = "",
        *,
        file: str | Path | None = None,
        row: int | None = None,
        column: str | None = None,
        header: bool = False,
    ) -> None:
        self.file, self.row, self.column = file, row, column
        counted = "the header" if row == 0 else f"row {row} below the header"
        place = [
            *([Path(file).name] if file is not None else []),
            *([counted if header else f"row {row}"] if row is not None else []),
            *([f"column {column!r}"] if column is not None else []),
        ]
        where = f" ({', '.join(place)})" if place else ""
        super().__init__(f"{what}{where}. {remedy}".rstrip())


class PluginError(CrowdError):
    """A plug-in of another package that cannot be used: says which, of what package, and why, in one line."""

    def __init__(self, kind: str, name: str, package: str, error: Exception) -> None:
        why = " ".join(f"{type(error).__name__}: {error}".split())
        super().__init__(f"The {kind} {name!r} of the package {package!r} cannot be used: {why}")


class MissingExtraError(CrowdError):
    """A feature whose optional packages are not installed."""


class SystemNotSupportedError(CrowdError):
    """A feature that this operating system cannot have."""


_EXTRAS = {  # package as it is imported -> the extra of crowdcore that brings it
    "torch": "learning",
    "torchvision": "learning",
    "safetensors": "learning",
    "sklearn": "learning",
    "mlflow": "runs",
    "distributed": "runs",
    "optuna": "runs",
    "kaleido": "export",
    "crowdkit": "crowd-kit",
    "onnx": "onnx",
    "onnxscript": "onnx",
    "yaml": "runs",
}


def need_extra(feature: str, *packages: str) -> MissingExtraError:
    """Phrase the refusal for missing optional packages, named as they are imported."""
    extras = ",".join(dict.fromkeys(_EXTRAS[package] for package in packages))
    named = ", ".join(map(repr, packages))
    missing = f"the package {named}, which is" if len(packages) == 1 else f"the packages {named}, which are"
    return MissingExtraError(f"{feature} needs {missing} not installed: pip install 'crowdcore[{extras}]'")


def did_you_mean(name: str, known: Iterable[str], say: Callable[[str], str] = repr) -> str:
    """``Did you mean 'conal'?`` with the known name nearest to a mistyped one, and a blank; "" if none is near.

    Args:
        name: what was given.
        known: names that there are.
        say: how a name is shown.
    """
    return "".join(f"Did you mean {say(near)}? " for near in get_close_matches(name, list(known), n=1))


def missing_extra(feature: str, *packages: str) -> MissingExtraError | None:
    """The refusal if any of ``packages`` is not installed, else None; none of them is imported."""
    missing = [package for package in packages if find_spec(package) is None]
    return need_extra(feature, *missing) if missing else None


def need_posix(feature: str) -> None:
    """Refuse a feature on systems other than Linux and macOS.

    Raises:
        SystemNotSupportedError: the system is another one.
    """
    if sys.platform not in {"linux", "darwin"}:
        raise SystemNotSupportedError(
            f"{feature} works on Linux and macOS only, but this system is {sys.platform!r}. "
            "On Windows, use the Windows Subsystem for Linux (WSL)."
        )

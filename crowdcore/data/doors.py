"""Decorate public functions so that they take a dataset, a frame, a path or a name; and former parameter names."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from functools import wraps
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Protocol, TypeAlias, TypeVar, cast, overload
from warnings import warn

from crowdcore.core.errors import SettingError
from crowdcore.data.dataset import IndexTable
from crowdcore.data.settings import need_classes, need_ratings

if TYPE_CHECKING:
    from crowdcore.data.ratings import Labelled


FORMER = {"bins": "n_bins", "blocks": "n_blocks", "resamples": "n_resamples", "truth": "reference"}
"""Former name of a parameter -> the name it has now, in every public function that has it."""


def renamed(function: Callable[P, R]) -> Callable[P, R]:
    """Accept former names of parameters, with a DeprecationWarning."""
    known = signature(function).parameters
    former = {old: new for old, new in FORMER.items() if old not in known and new in known}

    @wraps(function)
    def named(*args: P.args, **settings: P.kwargs) -> R:
        for old in [name for name in former if name in settings]:
            message = f"`{old}` of `{function.__name__}` is now `{former[old]}`; the next release will not know it."
            caller, level = sys._getframe(1), 2
            while caller.f_back is not None and caller.f_globals["__name__"].startswith("crowdcore."):
                caller, level = caller.f_back, level + 1  # of the other doors of the function
            warn(message, DeprecationWarning, stacklevel=level)
            settings[former[old]] = settings.pop(old)
        return function(*args, **settings)

    return named


P = ParamSpec("P")
R = TypeVar("R", covariant=True)


class Frame(Protocol):
    """A frame of pandas, polars, pyarrow, DuckDB or anything else that narwhals knows."""

    @property
    def columns(self) -> Any:
        """Names of its columns."""


DatasetLike: TypeAlias = "IndexTable | Frame | str | Path"
"""A dataset, a frame that holds its labels, the path of a file or folder, or the name of a dataset."""


class Door(Protocol[P, R]):
    """A function whose first argument, the dataset, may be anything that `as_dataset` takes."""

    @overload
    def __call__(self, dataset: DatasetLike, /, *args: P.args, **settings: P.kwargs) -> R: ...
    @overload
    def __call__(self, *, dataset: DatasetLike, **settings: Any) -> R: ...


_NEEDED: Mapping[str, Callable[[Any], Any]] = {
    "CrowdDataset": need_classes,
    "RatingDataset": need_ratings,
    "Labelled": lambda dataset: dataset,
}


def door(function: Callable[Concatenate[Any, P], R]) -> Door[P, R]:
    """Open the argument of each parameter that is annotated as a dataset, and refuse labels of another kind."""
    order, function = tuple(signature(function).parameters), renamed(function)
    needed = {name: _NEEDED[kind] for name, kind in function.__annotations__.items() if kind in _NEEDED}

    def opened(name: str, given: Any) -> Any:
        return needed[name](as_dataset(given, name)) if name in needed else given

    @wraps(function)
    def through(*args: Any, **settings: Any) -> R:
        first = [opened(name, given) for name, given in zip(order, args, strict=False)]
        return function(*first, *args[len(order) :], **{name: opened(name, value) for name, value in settings.items()})

    return cast(Door[P, R], through)


def as_dataset(given: DatasetLike, argument: str = "dataset") -> Labelled:
    """The given dataset, read from a frame, a file or a folder, or opened by its name.

    Raises:
        SettingError: something else, or no dataset of that name.
        DataError: it cannot be read, or not without dropping something.

    Examples:
        >>> as_dataset("demo").n_workers
        40
    """
    if isinstance(given, IndexTable):
        return cast("Labelled", given)
    from crowdcore.data.catalogue import open_labels
    from crowdcore.data.frames import from_frame

    if isinstance(given, str | Path):
        return open_labels(given)
    try:
        return cast("Labelled", from_frame(given))
    except SettingError as error:
        if error.argument != "frame":
            raise
    must = "be a dataset, a frame (of pandas, polars, pyarrow, DuckDB …), a path or a name"
    raise SettingError(argument, must, type(given).__name__)

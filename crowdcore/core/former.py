"""Former names of parameters, which are accepted for one release."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import wraps
from inspect import signature
from typing import ParamSpec, TypeVar
from warnings import warn

P = ParamSpec("P")
R = TypeVar("R")

FORMER = {"bins": "n_bins", "blocks": "n_blocks", "resamples": "n_resamples", "truth": "reference"}
"""Former name of a parameter -> the name it has now, in every public function that has it."""


def renamed(function: Callable[P, R]) -> Callable[P, R]:
    """Take what is given under a former name for what it is called now, with a DeprecationWarning."""
    known = signature(function).parameters
    former = {old: new for old, new in FORMER.items() if old not in known and new in known}

    @wraps(function)
    def named(*args: P.args, **settings: P.kwargs) -> R:
        for old in [name for name in former if name in settings]:
            told = f"`{old}` of `{function.__name__}` is now `{former[old]}`; the next release will not know it."
            caller, level = sys._getframe(1), 2
            while caller.f_back is not None and caller.f_globals["__name__"].startswith("crowdcore."):
                caller, level = caller.f_back, level + 1  # of the other doors of the function
            warn(told, DeprecationWarning, stacklevel=level)
            settings[former[old]] = settings.pop(old)
        return function(*args, **settings)

    return named

"""Progress for whoever looks on: a bar of tqdm in notebooks and terminals, nothing elsewhere."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

_FORM = "{desc} {bar} {percentage:3.0f} % [{elapsed}<{remaining}]"


def in_notebook() -> bool:
    """Whether a kernel of Jupyter runs this process."""
    python: Any = sys.modules.get("IPython")
    return python is not None and getattr(python.get_ipython(), "kernel", None) is not None


@contextmanager
def progress() -> Iterator[Callable[[float, str], None]]:
    """A bar on standard error that is gone when all is done; yields what sets the share that is done, and words."""
    if not (in_notebook() or sys.stderr.isatty()):
        yield lambda share, words: None
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of notebooks without widgets, which get a line of text
        from tqdm.auto import tqdm

        often = 1.0 if in_notebook() else 0.1  # seconds; a notebook without widgets may keep every line
        bar = tqdm(total=1.0, leave=False, bar_format=_FORM, mininterval=often)

    def tell(share: float, words: str) -> None:
        bar.set_description_str(words, refresh=False)
        bar.update(share - bar.n)

    try:
        yield tell
    finally:
        bar.close()

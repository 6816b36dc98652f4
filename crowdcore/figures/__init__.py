"""Result -> Plotly figure: every file of this folder holds figures, which are all attributes of this package.

``figures.shared_mistakes(result)`` draws what ``analysis.shared_mistakes`` computed; no figure computes anything
beyond its layout. A new file is found by itself: what its ``__all__`` names is exported.
"""

from __future__ import annotations

import importlib
import pkgutil
from typing import Any


def _export() -> list[str]:
    """Import every file of the folder and lift its public functions; a function wins over a file of its name."""
    found: dict[str, Any] = {}
    for module in sorted(m.name for m in pkgutil.iter_modules(__path__)):
        loaded = importlib.import_module(f"{__name__}.{module}")
        if module not in ("theme", "colors", "heatmap"):
            found |= {name: getattr(loaded, name) for name in loaded.__all__}
    globals().update(found)
    return sorted(found)


def __getattr__(name: str) -> Any:
    """Tell type checkers that figures are found at run time."""
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = _export()  # noqa: PLE0605

"""crowdcore: who makes which labelling mistakes, which of those are shared, and what is the truth behind them?

The public names are listed once, in ``__init__.pyi``, here and in every folder; each is imported on first use.
"""

import os

import lazy_loader

os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")  # gives back at once; read when pyarrow is first imported

__version__ = "0.3.0"
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

"""Runs: training in the background, and the record of what was trained.

MLflow keeps the record, in the workspace's own database or on a server; every run is a process of its own.
MLflow, Dask and Optuna are loaded on first use.
"""

import lazy_loader

from crowdcore.core.errors import need_posix

need_posix("Training in the background")
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

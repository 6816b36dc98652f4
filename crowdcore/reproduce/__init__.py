"""Reproductions of the papers' tables and figures: one file per paper, each entry the paper's numbers beside ours.

``ENTRIES`` lists them; ``start`` submits missing runs, ``look`` collects results, ``told`` makes the table. Finished
runs are used again, whatever started them, so that a reproduction goes on where it was interrupted.
"""

import lazy_loader

from crowdcore.core.errors import need_posix

need_posix("Training in the background")
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

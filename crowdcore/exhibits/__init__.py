"""View -> `Exhibit`: figure, table, notes, alternative text and what a click selects, for every figure and table.

Pages, reports, the command line and Python show the same exhibit. Names are hidden and escaped here, once.

    >>> import crowdcore as cc
    >>> seen = cc.exhibits.view(cc.load_dataset("demo"), "gold")
    >>> cc.exhibits.mistakes.shared_mistakes(seen).table.columns[:3].tolist()
    ['true', 'given', 'percent']
"""

import lazy_loader

from crowdcore.exhibits.view import View, view  # noqa: F401  # at once: a module has the same name

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

"""Dataset -> frozen result: pure functions, each with the reference that it takes for the truth.

Everything public is an attribute of this package: ``analysis.shared_mistakes(dataset, "gold").percent``.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

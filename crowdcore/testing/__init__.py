"""What every aggregator and method promises, as checks for those of your own: no test framework is needed.

``check_aggregator(Mine)`` and ``check_method(Mine)`` raise an AssertionError that names the promise that is broken.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

"""Checks of the promises of aggregators, methods and readers, for your own; no test framework is needed.

``check_aggregator(Mine)``, ``check_method(Mine)`` and ``check_reader(Mine, file, annotations)`` raise an AssertionError
that names the broken promise.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

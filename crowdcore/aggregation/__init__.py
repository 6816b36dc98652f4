"""Truth inference: the members of this folder are the aggregators.

``aggregation.names()`` lists them, ``aggregation.get("dawid-skene")`` makes one, and each class is an attribute:
``aggregation.DawidSkene(smoothing=0.01).fit(dataset).posterior``.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

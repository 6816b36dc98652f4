"""The true ratings behind a crowd's numbers, and each worker's bias, scale and precision; every file is a method."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

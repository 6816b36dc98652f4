"""Result -> Plotly figure: every file of this folder holds figures, which are all attributes of this package.

``figures.shared_mistakes(result)`` draws what ``analysis.shared_mistakes`` computed; no figure computes anything
beyond its layout.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

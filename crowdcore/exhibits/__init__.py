"""View -> `Exhibit`: figure, table, notes, alternative text and what a click selects, for every figure and table.

Pages, reports, the command line and Python show the same exhibit. Names are hidden and escaped here, once.
"""

from crowdcore.exhibits.exhibit import Exhibit
from crowdcore.exhibits.view import View, view

__all__ = ["Exhibit", "View", "view"]

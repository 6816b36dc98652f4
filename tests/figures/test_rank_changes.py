"""Names at the ends of the lines can be read, whatever ties."""

from __future__ import annotations

import numpy as np

from crowdcore import figures


def test_names_of_methods_that_share_a_rank_do_not_cover_each_other() -> None:
    rank = np.array([[1, 1], [1, 2], [1, 2], [4, 4]])
    fig = figures.rank_changes(list("abcd"), ["conal", "trace", "dl-mv", "ccc"], rank, rank / 10, ("gold", "none"))
    top, bottom = fig.layout.yaxis.range[::-1]
    pixels = (fig.layout.height - fig.layout.margin.t) / (bottom - top)  # of a rank, at most
    for side in (0, 1):
        at = sorted(note.y for note in fig.layout.annotations if note.x == side and note.yref != "paper")
        assert np.diff(at).min() * pixels >= 2 * 17  # two lines
        assert at[-1] <= bottom

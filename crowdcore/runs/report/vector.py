"""SVG files as a journal takes them: 170 mm wide, cells of heatmaps as rectangles instead of pictures of them."""

from __future__ import annotations

import base64
import io
import itertools
import re

import numpy as np

__all__ = ["for_paper"]

_WIDTH = 170  # millimetres
_MOST = 20_000  # cells; larger matrices stay pictures
_IMAGE = re.compile(r"<image [^>]*?href=\"data:image/png;base64,([^\"]+)\"[^>]*?(?:/>|></image>)")


def for_paper(svg: str) -> str:
    """The drawing with vector cells, at its printed size."""
    width, height = (_number(svg, name) for name in ("width", "height"))
    head, rest = svg.split(">", 1)
    for name, value in (("width", width), ("height", height)):
        head = re.sub(rf' {name}="[^"]*"', f' {name}="{value / width * _WIDTH:.2f}mm"', head)
    if "viewBox" not in head:
        head += f' viewBox="0 0 {width:g} {height:g}"'
    return _IMAGE.sub(lambda found: _cells(found[0], found[1]), f"{head}>{rest}")


def _cells(image: str, png: str) -> str:
    """A picture as rectangles: equal pixels side by side are one, and equal rows of pixels one row of them."""
    from PIL import Image

    pixels = np.asarray(Image.open(io.BytesIO(base64.b64decode(png))).convert("RGBA"))
    x0, y0, width, height = (_number(image, name) for name in ("x", "y", "width", "height"))
    wide, high = width / pixels.shape[1], height / pixels.shape[0]
    cells = []
    for top, bottom in _runs((pixels[1:] != pixels[:-1]).any((1, 2))):
        row = pixels[top]
        for left, right in _runs((row[1:] != row[:-1]).any(1)):
            red, green, blue, alpha = row[left].tolist()
            if alpha:
                place = f'x="{x0 + left * wide:.2f}" y="{y0 + top * high:.2f}"'
                size = f'width="{(right - left) * wide:.2f}" height="{(bottom - top) * high:.2f}"'
                cells.append(
                    f'<rect {place} {size} fill="rgb({red},{green},{blue})" fill-opacity="{alpha / 255:.3g}"/>'
                )
    return image if len(cells) > _MOST else f'<g shape-rendering="crispEdges">{"".join(cells)}</g>'


def _runs(changes: np.ndarray) -> list[tuple[int, int]]:
    """Start and end of what stays equal between changes."""
    cuts = [0, *(np.flatnonzero(changes) + 1).tolist(), len(changes) + 1]
    return list(itertools.pairwise(cuts))


def _number(element: str, name: str) -> float:
    """A length in an element's attributes; 0 where it has none."""
    found = re.search(rf' {name}="([\d.eE+-]+)', element)
    return float(found[1]) if found else 0.0

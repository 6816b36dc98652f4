"""SVG files of a report: cells as rectangles, at a printed size."""

from __future__ import annotations

import base64
import io
import re

import numpy as np
from PIL import Image

from crowdcore.runs.report.vector import for_paper


def svg(pixels: np.ndarray) -> str:
    """A drawing of 900 × 450 pixels with one picture, as Plotly writes it."""
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, "PNG")
    data = base64.b64encode(buffer.getvalue()).decode()
    image = f'<image x="10" y="20" width="60" height="40" xlink:href="data:image/png;base64,{data}" preserve="none"/>'
    return f'<svg class="main-svg" width="900" height="450" viewBox="0 0 900 450"><g class="hm">{image}</g></svg>'


def test_cells_become_rectangles_and_the_file_has_a_printed_size():
    pixels = np.zeros((4, 6, 4), np.uint8)
    pixels[:2, :3] = 255, 0, 0, 255  # the right part stays see-through
    pixels[2:, :] = 0, 0, 255, 51
    drawn = for_paper(svg(pixels))
    assert "<image" not in drawn
    assert 'width="170.00mm" height="85.00mm"' in drawn
    found = re.findall(
        r'<rect x="(\S+)" y="(\S+)" width="(\S+)" height="(\S+)" fill="(\S+)" fill-opacity="(\S+)"', drawn
    )
    assert found == [
        ("10.00", "20.00", "30.00", "20.00", "rgb(255,0,0)", "1"),
        ("10.00", "40.00", "60.00", "20.00", "rgb(0,0,255)", "0.2"),
    ]


def test_a_large_matrix_stays_a_picture():
    pixels = np.random.default_rng(0).integers(0, 255, (200, 200, 4), np.uint8)
    assert "<image" in for_paper(svg(pixels | np.uint8(1)))

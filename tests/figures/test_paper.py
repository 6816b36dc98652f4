"""Figures for print: cells as rectangles, a printed size, the font within the file."""

from __future__ import annotations

import base64
import io
import re

import numpy as np
import pytest
from PIL import Image

from crowdcore.figures.heatmap import heatmap
from crowdcore.figures.paper import FONT, draw, for_paper


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


def test_every_letter_of_a_file_is_in_the_font_that_it_holds(tmp_path):
    """Embedded, so that no other system puts another font in its place; on a page of 170 mm, without pictures."""
    letters = "Straße, Ærø, Łódź, кошка, ω̂ ≤ 0.05 ± κ − ½ · × … “ä” → –"
    fig = heatmap(np.eye(3), list("abc"), list("abc"), text=np.eye(3).astype(str), title=letters, subtitle="q ≤ 0.05")
    told = []
    files = {tmp_path / f"f.{kind}": fig for kind in ("svg", "pdf", "png")}
    draw(files, lambda *words: told.append(words))
    assert told == [(k / 3, letters) for k in range(3)]
    svg, pdf, png = (file.read_bytes() for file in files)
    assert base64.b64encode(FONT.read_bytes()) in svg
    assert set(re.findall(rb"font-family: (\w+)", svg)) == {b"Arial"}
    assert set(re.findall(rb"/FontName /[A-Z]{6}\+(\w+)", pdf)) == {b"Arimo"}
    assert b"/FontFile2" in pdf
    assert b"/Subtype /Image" not in pdf
    width, height = re.findall(rb"/MediaBox \[0 0 (\S+) (\S+)\]", pdf)[0]
    assert float(width) == pytest.approx(170 / 25.4 * 72, abs=1)
    assert float(height) / float(width) == pytest.approx(fig.layout.height / 900, abs=0.01)
    assert Image.open(io.BytesIO(png)).width == pytest.approx(170 / 25.4 * 600, abs=1)
    assert fig.layout.paper_bgcolor is None

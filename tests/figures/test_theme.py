"""The shared look: legible on light and dark, steady colours, every figure exported, also for print."""

from __future__ import annotations

import base64
import io
import itertools
import re
from copy import deepcopy
from pathlib import Path

import numpy as np
import plotly.graph_objects as go
import pytest
from PIL import Image
from plotly.colors import hex_to_rgb

from crowdcore import figures
from crowdcore.figures import theme
from crowdcore.figures.heatmap import heatmap
from crowdcore.figures.paper import FONT, draw, for_paper
from crowdcore.learning import methods as learning_methods

ROOT = Path(__file__).parents[2]

# How deuteranopes, protanopes and others see linear light (Machado, Oliveira & Fernandes 2009, severity 1).
SIGHTS = [
    np.array([[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]),
    np.array([[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]),
    np.eye(3),
]
TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])


def linear(color: str) -> np.ndarray:
    part = np.array(hex_to_rgb(color)) / 255
    return np.where(part <= 0.04045, part / 12.92, ((part + 0.055) / 1.055) ** 2.4)


def luminance(color: str) -> float:
    return float(linear(color) @ [0.2126, 0.7152, 0.0722])


def seen_apart(one: str, other: str, sight: np.ndarray) -> float:
    """ΔE (CIE 1976) between two colours as somebody sees them."""

    def lab(color: str) -> np.ndarray:
        x = TO_XYZ @ np.clip(sight @ linear(color), 0, 1) / np.array([0.95047, 1, 1.08883])
        f = np.where(x > 0.008856, np.cbrt(x), 7.787 * x + 16 / 116)
        return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])

    return float(np.linalg.norm(lab(one) - lab(other)))


def contrast(one: str, other: str) -> float:
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("style", ["dashboard/style.css", "crowdcore/runs/report/page.css"])
def test_text_has_the_contrast_of_wcag_aa_on_light_and_on_dark(style):
    """A dark page draws in a light tone what a figure draws in its ink."""
    assert contrast(theme.INK, "#ffffff") > 4.5
    drawn_in_ink = r'style\*="{0}: rgb\({1}, {2}, {3}\)"\] {{ {0}: light-dark\({ink}, (#\w+)\) !important'
    for part in ("fill", "stroke"):
        pattern = drawn_in_ink.format(part, *hex_to_rgb(theme.INK), ink=theme.INK)
        on_dark = re.search(pattern, (ROOT / style).read_text())
        assert on_dark is not None
        assert contrast(on_dark[1], "#262730") > 4.5


@pytest.mark.parametrize("background", ["#ffffff", "#0e1117"])
def test_marks_show_on_light_and_dark(background):
    for color in (theme.ACCENT, theme.WARN):
        assert contrast(color, background) > 3
    assert min(contrast(c, background) for c in theme.PALETTE) > 2


def test_the_sequential_scale_gets_lighter_step_by_step():
    steps = [luminance(color) for _, color in theme.SEQUENTIAL]
    assert (np.diff(steps) > 0.01).all()
    assert [at for at, _ in theme.SEQUENTIAL] == pytest.approx(np.linspace(0, 1, 10))


def test_a_method_keeps_its_colour():
    assert theme.method_color("dawid-skene") == theme.method_color("dl-ds")
    assert theme.method_color("a new method") == theme.method_color("a new method")
    assert theme.method_color("a new method") in theme.PALETTE


def test_no_two_curves_of_a_figure_look_alike_to_any_kind_of_colour_vision():
    methods = learning_methods.names()
    looks = theme.looks([*methods, "conal", "conal", "somebody's", "somebody else's"])
    assert len(set(looks)) == len(looks)
    assert len({look.color for look in theme.looks(methods[:10])}) == 10
    for one, other in itertools.combinations(looks, 2):
        if one.dash == other.dash:
            assert min(seen_apart(one.color, other.color, sight) for sight in SIGHTS) > 9.9


def test_a_method_keeps_its_look_whatever_the_order_and_one_colour_for_all_its_runs():
    methods = ["trace", "dl-mv", "crowd-layer", "soft-bootstrap", "vanilla", "a new method"]
    colors = {m: look.color for m, look in zip(methods, theme.looks(methods), strict=True)}
    backwards = {m: look.color for m, look in zip(methods[::-1], theme.looks(methods[::-1]), strict=True)}
    assert colors == backwards
    assert all(colors[m] == theme.method_color(m) for m in methods[:5])
    runs = theme.looks(["conal", "trace", "conal"])
    assert (runs[0].color, runs[2].color) == (theme.method_color("conal"),) * 2
    assert (runs[0].dash, runs[2].dash, runs[2].symbol) == ("solid", "dash", "square")


def test_figures_are_see_through_and_carry_their_subtitle():
    fig = theme.figure(title="Title", subtitle="reference: gold")
    assert fig.layout.template.layout.paper_bgcolor == "rgba(0,0,0,0)"
    assert fig.layout.title.subtitle.text == "reference: gold"
    assert theme.figure().layout.title.text is None


def test_every_public_figure_is_an_attribute():
    assert {"shared_mistakes", "labels_per_worker", "class_balance"} <= set(figures.__all__)
    assert all(callable(getattr(figures, name)) for name in figures.__all__)
    with pytest.raises(AttributeError, match="nothing"):
        _ = figures.nothing


def test_long_names_leave_room_for_the_picture():
    assert theme.short("street") == "street"
    assert theme.short("x" * 30, 10) == "x" * 9 + "…"
    assert theme.short("&lt;b&gt;" + "x" * 30, 10) == "&lt;b&gt;" + "x" * 6 + "…"
    assert theme.short("a &amp; b", 5) == "a &amp; b"


def test_percentages_are_written_in_one_way():
    """``60 %``: neither Python's percent format nor that of Plotly, which leave no space."""
    sources = [file for folder in ("crowdcore", "dashboard") for file in (ROOT / folder).rglob("*.[pj][ys]")]
    assert len(sources) > 300
    assert [str(file) for file in sources if "%}" in file.read_text()] == []


def test_no_figure_hides_labels_at_its_edges():
    # Plotly would measure every label at every redraw, and redraw whenever the margin changes with what is hidden.
    layout = theme.figure(go.Heatmap(z=np.eye(3))).layout.template.layout
    assert layout.xaxis.ticklabeloverflow == layout.yaxis.ticklabeloverflow == "allow"


def test_a_copy_leaves_the_figure_untouched_at_every_moment():
    # 40 browsers at once: one copied the cached figure of another, whose heatmap had no type for that moment.
    class Untouched(dict):
        def refuse(self, *_: object) -> None:
            raise AssertionError("the figure was changed")

        def __deepcopy__(self, memo: dict) -> dict:
            return {key: deepcopy(value, memo) for key, value in self.items()}

        pop = __setitem__ = __delitem__ = update = clear = refuse

    fig = theme.figure(go.Heatmap(z=np.eye(3)), go.Scatter(x=[0, 1], y=[1, 0]), title="Cells", subtitle="of a test")
    fig._data = [Untouched(trace) for trace in fig._data]
    copy = theme.copied(fig)
    copy.update_layout(title=None).data[0].z = None
    assert [trace.type for trace in fig.data] == [trace.type for trace in copy.data] == ["heatmap", "scatter"]
    assert fig.layout.title.text == "Cells" and np.array_equal(fig.data[0].z, np.eye(3))
    with pytest.raises(AssertionError, match="was changed"):
        go.Figure(fig)  # should plotly mend this, `copied` is needless


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

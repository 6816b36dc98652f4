"""The shared look: legible on light and dark, steady colours, every figure exported."""

from __future__ import annotations

import numpy as np
import pytest
from plotly.colors import hex_to_rgb

from crowdcore import figures
from crowdcore.figures import theme


def luminance(color: str) -> float:
    part = np.array(hex_to_rgb(color)) / 255
    linear = np.where(part <= 0.04045, part / 12.92, ((part + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


def contrast(one: str, other: str) -> float:
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("background", ["#ffffff", "#0e1117"])
def test_text_and_marks_show_on_light_and_dark(background):
    assert contrast(theme.INK, background) > 3.9
    for color in (theme.ACCENT, theme.WARN):
        assert contrast(color, background) > 3
    assert min(contrast(c, background) for c in theme.PALETTE) > 2


def test_the_sequential_scale_gets_lighter_step_by_step():
    steps = [luminance(color) for _, color in theme.SEQUENTIAL]
    assert (np.diff(steps) > 0.01).all()
    assert [at for at, _ in theme.SEQUENTIAL] == pytest.approx(np.linspace(0, 1, 9))


def test_a_method_keeps_its_colour():
    assert theme.method_color("dawid-skene") == theme.method_color("dl-ds")
    assert theme.method_color("a new method") == theme.method_color("a new method")
    assert theme.method_color("a new method") in theme.PALETTE


def test_figures_are_see_through_and_carry_their_subtitle():
    fig = theme.figure(title="Title", subtitle="reference: gold")
    assert fig.layout.template.layout.paper_bgcolor == "rgba(0,0,0,0)"
    assert fig.layout.title.subtitle.text == "reference: gold"
    assert theme.figure().layout.title.text is None


def test_every_public_figure_is_an_attribute():
    assert {"shared_mistakes", "labels_per_worker", "class_balance"} <= set(figures.__all__)
    assert all(callable(getattr(figures, name)) for name in figures.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = figures.nothing


def test_long_names_leave_room_for_the_picture():
    assert theme.short("street") == "street"
    assert theme.short("x" * 30, 10) == "x" * 9 + "…"
    assert theme.short("&lt;b&gt;" + "x" * 30, 10) == "&lt;b&gt;" + "x" * 6 + "…"
    assert theme.short("a &amp; b", 5) == "a &amp; b"

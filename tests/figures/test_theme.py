"""The shared look, and figures of workers and their pairs."""

from __future__ import annotations

import base64
import io
import itertools
import re
from copy import deepcopy
from pathlib import Path

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pytest
from PIL import Image
from plotly.colors import hex_to_rgb

import crowdcore as cc
from crowdcore import analysis, figures
from crowdcore.analysis import WorkerDistance
from crowdcore.figures import theme
from crowdcore.figures.heatmap import heatmap
from crowdcore.figures.paper import FONT, draw, for_paper
from crowdcore.learning import methods as learning_methods
from testkit.crowds import simulate_crowd
from tests.analysis.crowds import make_crowd
from tests.analysis.workers.test_quality import planted
from tests.rated_crowd import rated_crowd

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
    """ΔE (CIE 1976) between two colours as a person with a given vision sees them."""

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
    matches = re.findall(
        r'<rect x="(\S+)" y="(\S+)" width="(\S+)" height="(\S+)" fill="(\S+)" fill-opacity="(\S+)"', drawn
    )
    assert matches == [
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
    warnings = []
    files = {tmp_path / f"f.{kind}": fig for kind in ("svg", "pdf", "png")}
    draw(files, lambda *words: warnings.append(words))
    assert warnings == [(k / 3, letters) for k in range(3)]
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


def test_dots_are_ranked_and_coloured_by_what_is_wrong():
    quality = analysis.worker_quality(planted())
    fig = figures.worker_ranking(quality, highlight=5, guessing=np.arange(23) >= 20)
    by_name = {trace.name: trace for trace in fig.data}
    assert list(by_name) == [
        "ordinary (20)",
        "one answer for nearly everything (1)",
        "no better than guessing (2)",
        "w5",
    ]
    x = np.concatenate([t.x for t in fig.data[:3]])
    assert sorted(x) == list(range(23))
    assert set(np.concatenate([t.x for t in fig.data[1:3]])) == {0, 1, 2}, "the suspect come first"
    assert by_name["one answer for nearly everything (1)"].customdata[0][0] == "w20"
    assert by_name["ordinary (20)"].error_y.array is not None
    ranked = np.lexsort((-quality.accuracy_low, np.arange(23) < 20))
    assert list(fig.layout.xaxis.ticktext) == [f"w{r}" for r in ranked]
    assert fig.data[3].y[0] == quality.accuracy[5]


def test_other_measures_and_names():
    quality = analysis.worker_quality(planted())
    fig = figures.worker_ranking(quality, "information", names=[f"someone {r}" for r in range(23)])
    assert fig.data[0].error_y.array is None
    assert fig.data[0].customdata[0][0].startswith("someone")
    assert fig.layout.shapes[0].y0 == pytest.approx(np.nanmax(quality.information_limit))
    with pytest.raises(cc.SettingError, match="`by`"):
        figures.worker_ranking(quality, "beauty")


def crowd_with_copier(source: int):
    """Worker 23 copies all labels of the source, who errs a lot."""
    crowd = planted()
    rng = np.random.default_rng(9)
    mine = crowd.worker == source
    label = np.where(
        mine & (rng.random(crowd.n_annotations) < 0.4), rng.integers(5, size=crowd.n_annotations), crowd.label
    )
    return make_crowd(
        np.concatenate([crowd.task, crowd.task[mine]]),
        np.concatenate([crowd.worker, np.full(mine.sum(), 23)]),
        np.concatenate([label, label[mine]]),
        300,
        24,
        5,
        crowd.gold,
    )


def test_conspicuous_pairs_stand_out():
    crowd = crowd_with_copier(0)
    pairs = analysis.pair_mistakes(crowd)
    fig = figures.pair_mistakes(pairs, groups=analysis.worker_verdicts(crowd).groups)
    chance, more, beyond = fig.data
    assert beyond.marker.color == theme.WARN
    assert beyond.name.startswith("act together (1)")
    assert beyond.customdata[0].startswith("<b>w0</b> and <b>w23</b>")
    k = int(np.nanargmin(pairs.p_beyond))
    assert (beyond.x[0], beyond.y[0]) == (pairs.expected[k], pairs.wrong_alike[k])
    drawn = len(chance.x) + len(more.x) + len(beyond.x)
    assert drawn == (pairs.wrong_alike > 0).sum()
    assert fig.layout.xaxis.range[0] < np.log10(pairs.expected[pairs.wrong_alike > 0].min())


def test_only_the_least_probable_of_many_pairs_are_drawn():
    crowd = crowd_with_copier(0)
    pairs = analysis.pair_mistakes(crowd)
    fig = figures.pair_mistakes(pairs, groups=analysis.worker_verdicts(crowd).groups, most=10)
    assert sum(len(trace.x) for trace in fig.data) == 10
    assert "10 least probable" in fig.layout.title.subtitle.text
    assert len(fig.data[2].x) == 1


def test_a_small_q_marks_nobody_who_is_in_no_group():
    pairs = analysis.pair_mistakes(crowd_with_copier(0))
    chance, more, together = figures.pair_mistakes(pairs).data
    assert (pairs.q_beyond <= 0.05).any()
    assert len(together.x) == 0
    assert len(chance.x) + len(more.x) == (pairs.wrong_alike > 0).sum()


def test_no_pairs_at_all():
    crowd = make_crowd([0, 1], [0, 1], [0, 1], 2, 2, 2, np.array([0, 1]))
    fig = figures.pair_mistakes(analysis.pair_mistakes(crowd))
    assert all(len(trace.x) == 0 for trace in fig.data)


def distances(n: int, seed: int = 0) -> WorkerDistance:
    rng = np.random.default_rng(seed)
    points = rng.random((n, 4))
    matrix = ((points[:, None] - points[None]) ** 2).sum(2)
    ids = pd.Index([f"w{r:04d}" for r in range(n)])
    return WorkerDistance(matrix, rng.integers(0, 9, (n, n)).astype(np.int32), "mse", ids, tuple("abcdefgh"), "gold")


def test_cells_stand_in_the_order_of_the_tree():
    distance = analysis.worker_distance(simulate_crowd())
    order = analysis.order_workers(distance, 3)
    fig = figures.worker_distance(distance, order)
    places = order.order
    np.testing.assert_allclose(fig.data[0].z, distance.matrix[np.ix_(places, places)].astype(np.float32))
    np.testing.assert_array_equal(fig.data[0].customdata, distance.overlap[np.ix_(places, places)])
    assert list(fig.layout.xaxis.ticktext) == [distance.worker_ids[r] for r in places]
    assert list(fig.layout.yaxis.range) == [11.5, -0.5]
    cuts = np.flatnonzero(np.diff(order.groups[places])) + 0.5
    assert sorted({shape.x0 for shape in fig.layout.shapes if shape.x0 == shape.x1}) == sorted(cuts)
    assert "reference: gold" in fig.layout.title.subtitle.text


def test_long_ids_are_short_and_different_beside_the_cells():
    distance = distances(12)
    ids = [f"annotator.{k}@university-of-somewhere.example" for k in range(12)]
    fig = figures.worker_distance(distance, names=ids)
    for axis in (fig.layout.xaxis, fig.layout.yaxis):
        assert len(set(axis.ticktext)) == 12
        assert max(map(len, axis.ticktext)) <= 20


def test_the_tree_has_its_merges_at_their_heights():
    distance = distances(12)
    order = analysis.order_workers(distance, 3)
    fig = figures.worker_distance(distance, order)
    branches = [t for t in fig.data if t.xaxis == "x2"]
    heights = np.sort(np.concatenate([np.reshape(t.x, (-1, 5))[:, 1] for t in branches]))
    np.testing.assert_allclose(heights, order.linkage[:, 2], rtol=1e-6)
    ends = np.concatenate([np.reshape(t.y, (-1, 5))[:, [0, 3]].ravel() for t in branches])
    at_leaves = np.concatenate([np.reshape(t.x, (-1, 5))[:, [0, 3]].ravel() for t in branches]) == 0
    assert sorted(ends[at_leaves]) == list(range(12))
    assert fig.layout.xaxis2.title.text == "3 groups"
    assert fig.layout.xaxis2.side == "top"  # below are names of workers


def test_without_an_order_there_is_no_tree():
    distance = distances(5)
    fig = figures.worker_distance(distance, names=[f"someone {k}" for k in range(5)])
    np.testing.assert_allclose(fig.data[0].z, distance.matrix.astype(np.float32))
    assert fig.layout.xaxis.ticktext[4] == "someone 4"
    assert not fig.layout.shapes and all(trace.xaxis != "x2" for trace in fig.data)


def test_unknown_distances_stay_empty():
    distance = distances(4)
    distance.matrix[0, 1] = distance.matrix[1, 0] = np.nan
    z = np.asarray(figures.worker_distance(distance).data[0].z)
    assert np.isnan(z).sum() == 2


def test_a_large_matrix_is_averaged_and_light_and_refines_on_zoom():
    n = 2571
    rng = np.random.default_rng(0)
    matrix = rng.random((n, n), np.float32)
    ids = pd.Index([f"w{r:04d}" for r in range(n)])
    distance = WorkerDistance(matrix, np.zeros((n, n), np.int8), "mse", ids, ("a", "b"), "gold")
    tree = np.stack([np.r_[0, n + np.arange(n - 2)], np.arange(1, n), np.linspace(1, 2, n - 1), np.arange(2, n + 1)], 1)
    order = analysis.WorkerOrder(np.arange(n), tree, (np.arange(n) > 1000).astype(int), ids, "")
    fig = figures.worker_distance(distance, order)
    z = np.asarray(fig.data[0].z)
    assert max(z.shape) <= 300
    assert (fig.data[0].x0, fig.data[0].dx) == (4.0, 9)
    assert z[1, 2] == pytest.approx(matrix[9:18, 18:27].mean(), rel=1e-5)
    assert fig.layout.yaxis.ticktext[1] == "w0009 … w0017"
    assert len(fig.to_json()) < 3e6
    near = figures.worker_distance(distance, order, view=((99.7, 150.2), (240.0, 200.0)))
    assert np.shape(near.data[0].z) == (41, 51)
    np.testing.assert_allclose(near.data[0].z, matrix[200:241, 100:151])
    assert (near.data[0].x0, near.data[0].y0, near.data[0].dx) == (100, 200, 1)
    assert list(near.layout.yaxis.range) == [240.0, 200.0]
    assert near.layout.coloraxis.cmax == fig.layout.coloraxis.cmax


def test_pairs_that_chance_explains_have_no_colour_but_their_numbers():
    crowd, _ = rated_crowd(200, 8, 5)
    pairs = analysis.rating_pairs(crowd, analysis.rating_truth(crowd))
    cells = figures.rating_errors_alike(pairs).data[0]
    sure = pairs.q_value <= 0.05
    assert not sure.all()
    assert np.abs(pairs.error_correlation).min() > 0
    np.testing.assert_array_equal(cells.z[pairs.worker_a, pairs.worker_b], np.where(sure, pairs.error_correlation, 0.0))
    customdata = cells.customdata[pairs.worker_a, pairs.worker_b]
    np.testing.assert_array_equal(customdata, np.stack([pairs.error_correlation, pairs.q_value, pairs.tasks], 1))
    assert np.isnan(np.diag(cells.z)).all()

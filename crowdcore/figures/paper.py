"""Figures for journals: light, 170 mm wide, cells as rectangles, the font in the file."""

from __future__ import annotations

import asyncio
import base64
import io
import itertools
import re
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from html import unescape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from crowdcore.core.errors import missing_extra
from crowdcore.figures.theme import copied

if TYPE_CHECKING:
    import plotly.graph_objects as go


FONT = Path(__file__).with_name("sans.woff")
"""Arimo, of the widths of Arial: Latin, Greek and Cyrillic letters (sans.txt has its licence)."""
_WIDTH = 170  # millimetres
_LAYOUT, _HEIGHT = 900, 450  # pixels for which figures are laid out: 13 of them become 7 points in print
_DPI = 600  # of a PNG
_INCH = 25.4  # millimetres
_MOST = 20_000  # cells; larger matrices stay pictures
_IMAGE = re.compile(r"<image [^>]*?href=\"data:image/png;base64,([^\"]+)\"[^>]*?(?:/>|></image>)")


def draw(figures: Mapping[Path, go.Figure], on_progress: Callable[[float, str], None] | None = None) -> None:
    """Draw figures into files, whose suffixes choose the format: ``.svg``, ``.pdf`` or ``.png``.

    ``on_progress`` is called with the share done, 0…1, and the title of the next figure.
    """
    refusal = missing_extra(f"Drawing to {', '.join(sorted({file.suffix for file in figures}))}", "kaleido")
    if refusal:
        raise refusal
    with ThreadPoolExecutor(1) as own:  # the caller may have an event loop, as in a notebook
        own.submit(asyncio.run, _draw(figures, on_progress or (lambda share, words: None))).result()


async def _draw(figures: Mapping[Path, go.Figure], tell: Callable[[float, str], None]) -> None:
    from kaleido import Kaleido

    async with Kaleido(mathjax=False) as browser:
        for done, (file, figure) in enumerate(figures.items()):
            tell(done / len(figures), unescape(figure.layout.title.text or file.stem))
            shown = copied(figure).update_layout(paper_bgcolor="white", plot_bgcolor="white")
            size = {"width": _LAYOUT, "height": figure.layout.height or _HEIGHT}
            if file.suffix.lower() == ".png":
                size |= {"format": "png", "scale": _WIDTH / _INCH * _DPI / _LAYOUT}
                file.write_bytes(await browser.calc_fig(shown, size))
                continue
            svg = for_paper((await browser.calc_fig(shown, {**size, "format": "svg"})).decode())
            file.write_bytes(svg.encode() if file.suffix.lower() == ".svg" else await _printed(browser, svg))


async def _printed(browser: Any, svg: str) -> bytes:
    """Print a drawing as a PDF of one page of its size; Chromium embeds the letters that it uses."""
    tab = await browser.create_tab("about:blank")

    async def ask(command: str, **arguments: object) -> dict[str, Any]:
        answer = await tab.send_command(command, arguments)
        if "error" in answer:
            raise RuntimeError(answer["error"]["message"])
        return answer["result"]  # type: ignore[no-any-return]

    frame = (await ask("Page.getFrameTree"))["frameTree"]["frame"]["id"]
    page = f"<!doctype html><style>body {{ margin: 0 }} svg {{ display: block }}</style>{svg}"
    await ask("Page.setDocumentContent", frameId=frame, html=page)
    loaded = "Promise.all([...document.fonts].map(font => font.load())).then(() => true)"
    await ask("Runtime.evaluate", expression=loaded, awaitPromise=True)
    sides = dict.fromkeys(("marginTop", "marginBottom", "marginLeft", "marginRight"), 0)
    size = {"paperWidth": _number(svg, "width") / _INCH, "paperHeight": _number(svg, "height") / _INCH}
    printed = await ask("Page.printToPDF", **sides, **size, printBackground=True, pageRanges="1")
    await browser.close_tab(tab.target_id)
    return base64.b64decode(printed["data"])


@cache
def _embedded_font() -> str:
    """Style that embeds the font of ``Arial`` in the file."""
    data = base64.b64encode(FONT.read_bytes()).decode()
    return f"<style>@font-face {{ font-family: Arial; src: url(data:font/woff;base64,{data}) }}</style>"


def for_paper(svg: str) -> str:
    """Return a drawing with vector cells, at its printed size, with its font."""
    width, height = (_number(svg, name) for name in ("width", "height"))
    head, rest = svg.split(">", 1)
    for name, value in (("width", width), ("height", height)):
        head = re.sub(rf' {name}="[^"]*"', f' {name}="{value / width * _WIDTH:.2f}mm"', head)
    if "viewBox" not in head:
        head += f' viewBox="0 0 {width:g} {height:g}"'
    return _IMAGE.sub(lambda match: _cells(match[0], match[1]), f"{head}>{_embedded_font()}{rest}")


def _cells(image: str, png: str) -> str:
    """Turn a picture into rectangles: one for equal pixels side by side, and one row of them for equal rows."""
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
    """Start and end of each run between changes."""
    cuts = [0, *(np.flatnonzero(changes) + 1).tolist(), len(changes) + 1]
    return list(itertools.pairwise(cuts))


def _number(element: str, name: str) -> float:
    """Read a length from an element's attributes; 0 if missing."""
    match = re.search(rf' {name}="([\d.eE+-]+)', element)
    return float(match[1]) if match else 0.0

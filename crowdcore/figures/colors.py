"""Colours of probabilities, the same in every figure: cividis from 0 to 1, linear or logarithmic, without a jump."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from plotly.colors import sample_colorscale, unlabel_rgb

from crowdcore.core.types import AnyArray, FloatArray
from crowdcore.figures import theme

__all__ = ["LEAST", "UNKNOWN", "Scale", "bar", "on_scale", "percent_ticks", "probability_axis", "readable"]

Scale = Literal["linear", "log"]
LEAST = 1e-3  # smallest probability that a logarithmic scale tells from 0
UNKNOWN = "rgba(128, 136, 150, 0.3)"  # grey on light and on dark: rows without evidence, which are not zeros
_WHITE, _BLACK = "#ffffff", "#050505"
_EQUAL = 0.1826  # luminance on which white and near-black are equally legible, at a contrast of 4.5


def on_scale(values: FloatArray, scale: Scale) -> FloatArray:
    """Probabilities as the colour axis has them: as they are, or their decimal logarithm from `LEAST` on."""
    return np.log10(np.maximum(values, LEAST)) if scale == "log" else np.asarray(values)


def probability_axis(top: float, scale: Scale) -> dict[str, object]:
    """The colour axis from 0 to ``top``, labelled in percent."""
    if scale == "log":
        ticks = [t for t in (LEAST, 0.01, 0.1, 1.0) if t <= top or t == LEAST]
        words = [f"≤ {100 * LEAST:g} %", *(f"{100 * t:g} %" for t in ticks[1:])]
        ticked = {"tickmode": "array", "tickvals": np.log10(ticks).tolist(), "ticktext": words}
        ends = {"cmin": float(np.log10(LEAST)), "cmax": float(np.log10(max(top, 2 * LEAST)))}
        return {"colorscale": theme.SEQUENTIAL, **ends, "colorbar": bar(**ticked)}
    return {"colorscale": theme.SEQUENTIAL, "cmin": 0, "cmax": top, "colorbar": bar(**percent_ticks(0, top))}


def percent_ticks(low: float, high: float, sign: bool = False) -> dict[str, object]:
    """Ticks of an axis of shares, written ``20 %``, at most eight of them."""
    step = next((s for s in (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1) if (high - low) / s <= 7), 0.2)
    at = np.arange(np.ceil(low / step - 1e-9), np.floor(high / step + 1e-9) + 1) * step + 0.0
    words = [f"{100 * t:{'+' if sign and t else ''}.3g} %".replace("-", "−") for t in at]
    return {"tickmode": "array", "tickvals": at.tolist(), "ticktext": words}


def bar(**more: object) -> dict[str, object]:
    """A slim colour bar."""
    return {"thickness": 12, "outlinewidth": 0, "len": 1.0, "y": 0.5, "xpad": 8, **more}


def readable(
    text: AnyArray, values: FloatArray, colorscale: Sequence[Sequence[float | str]], low: float, high: float
) -> AnyArray:
    """(n, m) strings in white or near-black, whichever is legible on the cell's colour (contrast 4.5 or more)."""
    place = np.clip((np.nan_to_num(values, nan=low) - low) / (high - low), 0, 1).ravel()
    shades = np.array([unlabel_rgb(c) for c in sample_colorscale(list(map(list, colorscale)), place, colortype="rgb")])
    part = shades.reshape(-1, 3) / 255
    linear = np.where(part <= 0.04045, part / 12.92, ((part + 0.055) / 1.055) ** 2.4)
    light = (linear @ [0.2126, 0.7152, 0.0722] > _EQUAL).reshape(values.shape)
    out = np.empty(values.shape, object)
    for at, words in np.ndenumerate(np.asarray(text, object)):
        ink = theme.INK if np.isnan(values[at]) else _BLACK if light[at] else _WHITE
        out[at] = f'<span style="color:{ink}">{words}</span>' if words else ""
    return out

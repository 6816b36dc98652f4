"""Features of sounds: energies of 64 mel bands in decibels, and how they vary over time."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from scipy.io import wavfile

from crowdcore.core.types import FloatArray

_BANDS, _LOW, _HIGH = 64, 50.0, 8000.0  # Hz
_WINDOW, _HOP, _FINEST = 0.025, 0.010, 10.0  # seconds; Hz between frequencies, for which windows are padded with zeros
_AT_ONCE, _SECONDS = 1000, 600  # windows; of a sound that count
_FLOOR = 1e-10  # of the energy of a full scale


def log_mel(samples: FloatArray, rate: int) -> FloatArray:
    """(T, 64) decibels in triangular bands that are equally wide in mel, from 50 to 8,000 Hz; Hann windows of 25 ms.

    Args:
        samples: (n,) of one channel, full scale 1.
        rate: samples a second.
    """
    width, hop = max(2, round(_WINDOW * rate)), max(1, round(_HOP * rate))
    n = max(width, 1 << int(np.ceil(np.log2(rate / _FINEST))))
    mel = 2595 * np.log10(1 + np.array([_LOW, _HIGH]) / 700)
    edges = 700 * (10 ** (np.linspace(mel[0], mel[1], _BANDS + 2) / 2595) - 1)
    low, middle, high = edges[:-2, None], edges[1:-1, None], edges[2:, None]
    frequency = np.fft.rfftfreq(n, 1 / rate)
    bands = np.minimum((frequency - low) / (middle - low), (high - frequency) / (high - middle)).clip(0).T
    windows = np.lib.stride_tricks.sliding_window_view(np.pad(samples, (0, max(0, width - len(samples)))), width)[::hop]
    hann = np.hanning(width + 1)[:-1]
    blocks = (windows[k : k + _AT_ONCE] * hann for k in range(0, len(windows), _AT_ONCE))
    energy = [np.abs(np.fft.rfft(block, n)) ** 2 @ bands for block in blocks]
    return np.asarray(10 * np.log10(np.concatenate(energy) / hann.sum() ** 2 + _FLOOR))


def sound_rows(files: Sequence[str], only_faults: bool = False) -> tuple[FloatArray, list[str]]:
    """(n, 192) float32: mean and deviation of each band over time, and the mean change between windows; and faults.

    Means are (decibels + 50) / 25, the others decibels / 10, so that all are of the size that networks begin with.
    The first ten minutes of a sound count, the mean of its channels; the fault of a sound file is "".
    With ``only_faults`` files are only read, and rows are 0.
    """
    rows, faults = np.zeros((len(files), 3 * _BANDS), np.float32), [""] * len(files)
    for i, file in enumerate(files):
        try:
            with warnings.catch_warnings(action="ignore", category=wavfile.WavFileWarning):  # chunks beside the sound
                rate, given = wavfile.read(file)
            samples = given[: _SECONDS * rate]
            if not samples.size or not np.isfinite(samples).all():
                raise ValueError("it holds no sound" if not samples.size else "it holds numbers that are not finite")
            if only_faults:
                continue
            zero = 128 if samples.dtype == np.uint8 else 0
            scale = 1 if samples.dtype.kind == "f" else int(np.iinfo(samples.dtype).max) - zero
            bands = log_mel((samples.reshape(len(samples), -1).mean(1, dtype=np.float64) - zero) / scale, rate)
            change = np.abs(np.diff(bands, axis=0)).mean(0) if len(bands) > 1 else np.zeros(_BANDS)
            rows[i] = np.concatenate([(bands.mean(0) + 50) / 25, bands.std(0) / 10, change / 10])
        except (OSError, ValueError, EOFError, ZeroDivisionError) as error:
            faults[i] = f"{Path(file).name} is no WAV that can be read: {' '.join(str(error).split())[:100]}"
    return rows, faults

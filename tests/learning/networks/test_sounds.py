"""Log-mel features of WAV files: values by the definition, faults, and training from a folder of sounds."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.io import wavfile

import crowdcore as cc
from crowdcore.core.errors import DataError
from crowdcore.learning import train
from crowdcore.learning.networks.sounds import log_mel, sound_rows


def tone(hertz: float, rate: int = 8000, seconds: float = 0.4, noise: float = 0.0, seed: int = 0) -> np.ndarray:
    at = np.arange(int(rate * seconds)) / rate
    return 0.5 * np.sin(2 * np.pi * hertz * at) + noise * np.random.default_rng(seed).normal(size=len(at))


@pytest.mark.parametrize("rate", [8000, 16000, 44100])
@pytest.mark.parametrize("hertz", [300.0, 1000.0, 3000.0])
def test_a_tone_is_loudest_in_the_band_around_it(rate, hertz):
    mel = 2595 * np.log10(1 + np.array([50, 8000, hertz]) / 700)
    band = 65 * (mel[2] - mel[0]) / (mel[1] - mel[0]) - 1
    bands = log_mel(tone(hertz, rate), rate)
    assert bands.shape[1] == 64 and np.isfinite(bands).all()
    assert (np.abs(bands.argmax(1) - band) <= 1).all()
    louder = log_mel(10 * tone(hertz, rate), rate)
    np.testing.assert_allclose((louder - bands)[:, bands.argmax(1)[0]], 20, atol=0.1)


def test_formats_of_one_sound_agree_and_faults_are_told(tmp_path):
    wave = tone(800, noise=0.05)
    single = wave.astype(np.float32)
    forms = {"float": single, "short": (wave * 32767).astype(np.int16), "bytes": (wave * 127 + 128).astype(np.uint8)}
    forms |= {"stereo": np.stack([single] * 2, 1), "empty": single[:0], "nan": np.full(100, np.nan, np.float32)}
    for name, values in forms.items():
        wavfile.write(tmp_path / f"{name}.wav", 8000, values)
    (tmp_path / "text.wav").write_text("no sound")
    (tmp_path / "short-click.wav").write_bytes((tmp_path / "short.wav").read_bytes()[:60])
    files = [str(tmp_path / f"{name}.wav") for name in (*forms, "text", "short-click")]
    rows, faults = sound_rows(files)
    checked, same = sound_rows(files, only_faults=True)
    assert same == faults and not checked.any()
    assert rows.shape == (8, 192) and np.isfinite(rows).all()
    assert [bool(fault) for fault in faults[:7]] == [False] * 4 + [True] * 3
    np.testing.assert_allclose(rows[1], rows[0], atol=0.02)
    np.testing.assert_allclose(rows[3], rows[0], atol=1e-3)
    assert np.abs(rows[2] - rows[0])[:64].mean() < 0.25


@pytest.fixture
def sounds(tmp_path):
    """60 sounds of two classes beside a table of three labels each, 9 of 10 right."""
    rng, lines = np.random.default_rng(0), []
    for i in range(60):
        kind = i % 2
        wavfile.write(tmp_path / f"s{i}.wav", 8000, tone((500, 900)[kind], noise=0.1, seed=i).astype(np.float32))
        for worker in range(3):
            label = kind if rng.random() < 0.9 else 1 - kind
            lines.append((f"s{i}.wav", f"w{worker}", ("low", "high")[label]))
    pd.DataFrame(lines, columns=["task", "worker", "label"]).to_csv(tmp_path / "votes.csv", index=False)
    return tmp_path / "votes.csv"


def test_a_folder_of_sounds_trains_by_default(sounds):
    crowd = cc.read_dataset(sounds)
    result = train(crowd, "dl-ds", seeds=1, epochs=40, lr=0.01, select_on="none")
    assert result.input_shape == (192,) and any("Log-mel" in note for note in result.notes)
    truth = np.array([int(name[1:-4]) % 2 for name in crowd.task_ids[result.task]])
    classes = np.array(crowd.classes)[result.probabilities["last"][0].argmax(1)]
    assert (classes == np.array(("low", "high"))[truth]).mean() >= 0.9


def test_a_sound_that_is_none_is_named_and_left_out_if_accepted(sounds):
    (sounds.parent / "s7.wav").write_bytes(b"no sound")
    (sounds.parent / "s8.wav").unlink()
    crowd = cc.read_dataset(sounds)
    with pytest.raises(DataError, match=r"s7.wav is no WAV.*s8.wav is missing"):
        train(crowd, "dl-ds", seeds=1, epochs=1)
    result = train(crowd, "dl-ds", seeds=1, epochs=1, select_on="none", accept=True)
    assert len(result.task) == 58 and any("2 of 60 tasks" in note for note in result.notes)

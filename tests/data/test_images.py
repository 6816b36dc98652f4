"""Images in files: decoded once, kept memory-mapped; what cannot be used is named and left out only with consent."""

from __future__ import annotations

import re
from contextlib import closing
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from crowdcore.core.errors import DataError, SettingError
from crowdcore.data import media as images
from crowdcore.data.dataset import Media
from testkit.crowds import simulate_crowd
from tests.data.pictures import write_bad_pictures, write_pictures
from tests.data.sources.server import Server


def pictured(folder, names):
    crowd = simulate_crowd(len(names), n_workers=4)
    return replace(crowd, media=Media(columns=pd.DataFrame({"image": names}), folder=folder))


def test_files_become_one_memory_mapped_array_of_their_middle_squares(tmp_path, monkeypatch):
    tall = np.zeros((32, 16, 3), np.uint8)
    tall[8:24] = 200
    Image.fromarray(tall).save(tmp_path / "tall.png")
    Image.fromarray(tall[..., 0]).save(tmp_path / "grey.png")
    crowd = pictured(tmp_path, [*write_pictures(tmp_path, [0, 1]), "tall.png", "grey.png"])
    read = images.read_images(crowd, 16, cache=tmp_path / "cache")
    pixels = read.media.images
    assert pixels.shape == (4, 16, 16, 3) and isinstance(pixels.arrays[0], np.memmap)
    np.testing.assert_array_equal(pixels[[0]][0], np.asarray(Image.open(tmp_path / "p000.png")))
    assert (pixels[[2, 3]] == 200).all()
    usual = images.read_images(crowd, cache=tmp_path / "cache")
    assert usual.media.images.parts == pixels.parts  # the first is 16 × 16
    monkeypatch.setattr(images, "_decode_all", lambda *_: pytest.fail("decoded again"))
    np.testing.assert_array_equal(images.read_images(crowd, 16, cache=tmp_path / "cache").media.images[:], pixels[:])


def test_an_upright_picture_is_one_whose_camera_was_turned(tmp_path):
    pixels = np.zeros((8, 8, 3), np.uint8)
    pixels[0] = 255
    exif = Image.Exif()
    exif[0x0112] = 6  # turned by a quarter
    Image.fromarray(pixels).save(tmp_path / "turned.png", exif=exif)
    found = images.square(tmp_path / "turned.png", 8)
    assert (found[:, -1] == 255).all() and not found[:, 0].any()


def test_bad_images_are_named_and_left_out_only_with_consent(tmp_path):
    inside = tmp_path / "photos"
    inside.mkdir()
    bad = write_bad_pictures(inside)
    crowd = pictured(inside, ["whole.png", *bad, None])
    first, last = "'t0*1': zero.png is empty", "'t0*10': no image is named"
    with pytest.raises(
        images.UnusableError, match=f"10 of 11 tasks cannot be used.*{first}.*{last}.*accept"
    ) as refused:
        images.read_images(crowd, 16, cache=tmp_path / "cache")
    faults = refused.value.faults
    assert len(faults) == 10 and re.match(first, faults[0]) and re.match(last, faults[-1])
    assert [remedy.choices for remedy in refused.value.remedies] == [({"accept": True},)]
    read = images.read_images(crowd, 16, cache=tmp_path / "cache", accept=True)
    assert read.media.images.present.tolist() == [True, *[False] * 10]
    assert read.notes[-1].startswith("Left out: 10 of 11 tasks")
    for name, reason in bad.items():
        with pytest.raises(DataError, match=reason):
            images.read_images(pictured(inside, ["whole.png", name]), 16, cache=tmp_path / "cache")
    with pytest.raises(DataError, match="No task is left"):
        images.read_images(pictured(inside, ["zero.png"]), 16, cache=tmp_path / "cache", accept=True)


def test_what_takes_the_child_process_down_is_named(tmp_path, monkeypatch):
    Image.new("RGB", (4000, 4000)).save(tmp_path / "large.png")
    crowd = pictured(tmp_path, [*write_pictures(tmp_path, [0]), "large.png"])
    monkeypatch.setenv("CROWDCORE_EXAMINE_MEMORY", "0.15")
    read = images.read_images(crowd, 16, cache=tmp_path / "cache", accept=True)
    assert read.media.images.present.tolist() == [True, False]
    assert "large.png" in read.notes[-1] and "memory" in read.notes[-1]


def test_addresses_are_fetched_only_where_that_is_allowed(tmp_path):
    names = write_pictures(tmp_path, [0])
    with closing(Server()) as server:
        server.serve("/a.png", (tmp_path / names[0]).read_bytes())
        crowd = pictured(tmp_path, [f"{server.url}/a.png", "file:///etc/hostname"])
        with pytest.raises(DataError, match=r"2 of 2 tasks.*No task is left\. URLs are not downloaded.*--allow-urls"):
            images.read_images(crowd, 16, cache=tmp_path / "cache")
        read = images.read_images(crowd, 16, cache=tmp_path / "cache", accept=True, allow_urls=True)
    assert read.media.images.present.tolist() == [True, False]


def test_a_dataset_without_images_and_an_odd_side_are_refused(tmp_path):
    with pytest.raises(DataError, match="has no images"):
        images.read_images(simulate_crowd(5))
    with pytest.raises(SettingError, match="between 8 and 1024"):
        images.read_images(pictured(tmp_path, ["a.png"]), 2)

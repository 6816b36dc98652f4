"""Named datasets."""

from __future__ import annotations

import numpy as np
import pytest

import crowdcore as cc
from crowdcore.core.errors import DataError, SettingError
from crowdcore.data import catalogue, describe_datasets, write_folder
from crowdcore.data.catalogue import open_labels, with_pictures
from crowdcore.data.kinds import RATINGS, KindError
from testkit.crowds import simulate_crowd


@pytest.fixture
def shelf(tmp_path, monkeypatch):
    monkeypatch.setenv("CROWDCORE_DATA", str(tmp_path))
    monkeypatch.setattr(catalogue, "search_path", lambda: [tmp_path])
    return tmp_path


def test_the_real_ones_are_listed_with_what_they_are(data_folder):
    names = cc.list_datasets()
    assert names == sorted(names)
    assert {"labelme", "music", "cifar10n", "conll_ner", "movie_reviews", "mnist"} <= set(names)
    infos = {info.name: info for info in describe_datasets()}
    assert list(infos) == names
    assert {name: infos[name].kind for name in ("labelme", "mnist", "conll_ner", "movie_reviews")} == {
        "labelme": "crowd",
        "mnist": "labelled",
        "conll_ner": "sequences",
        "movie_reviews": "ratings",
    }
    assert not infos["labelme"].reason and infos["movie_reviews"].reason
    assert all(infos[name].loads for name in ("labelme", "mnist", "conll_ner", "movie_reviews"))


def test_pictures_lent_by_another_dataset(data_folder):
    ds = cc.load_dataset("cifar10s")
    lender = cc.load_dataset("cifar10_images")
    assert len(ds.media.images) == ds.n_tasks
    some = np.array([0, 500, 999])
    place = lender.task_ids.get_indexer(ds.task_ids[some])
    np.testing.assert_array_equal(ds.media.images[some], lender.media.images[place])
    assert ds.media.images[some].shape == (3, 32, 32, 3)
    np.testing.assert_array_equal(lender.gold[place], ds.gold[some])


def test_pictures_only_where_the_lender_has_the_task(crowd):
    assert with_pictures(crowd, crowd) is crowd
    from dataclasses import replace

    from crowdcore.data import Media, Rows

    other = simulate_crowd(n_tasks=3)
    lender = replace(other, media=Media(Rows.from_array(np.arange(3, dtype=np.uint8).reshape(3, 1, 1))))
    borrowed = with_pictures(crowd, lender).media.images
    assert borrowed.present.sum() == 3
    assert borrowed[[2]].item() == 2


def test_no_such_dataset(shelf, crowd):
    write_folder(crowd, shelf / "mine")
    with pytest.raises(
        SettingError, match=r"`name` must be an available dataset, but got 'mime'\. Did you mean 'mine'"
    ):
        cc.load_dataset("mime")


def test_a_folder_here_is_named_by_its_path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "two").mkdir()
    with pytest.raises(SettingError, match=r"`read_dataset\('\./two'\)` reads it; commands take '\./two'"):
        cc.load_dataset("two")


def test_names_titles_paths_and_ranges(shelf, crowd, tmp_path, monkeypatch):
    monkeypatch.setenv("CROWDCORE_WORKSPACE", str(tmp_path / "workspace"))
    write_folder(crowd, shelf / "mine")
    assert open_labels("mine").fingerprint == open_labels(str(shelf / "mine")).fingerprint == crowd.fingerprint
    (tmp_path / "stars.csv").write_text("task,worker,label\nt1,w1,1\nt1,w2,7\n", encoding="utf-8")
    stars = open_labels(str(tmp_path / "stars.csv"), low=1, high=5, accept=True)
    assert stars.kind is RATINGS and stars.rating.tolist() == [1.0]
    with pytest.raises(SettingError, match="available dataset"):
        open_labels("yours")


def test_load_dataset_opens_numbers(data_folder):
    reviews = cc.load_dataset("movie_reviews", accept=True)
    assert reviews.kind is RATINGS and reviews.fingerprint == cc.load_ratings("movie_reviews", accept=True).fingerprint
    with pytest.raises(KindError, match="apply to numbers"):
        cc.analysis.shared_mistakes(reviews)


def test_a_folder_with_losses_says_so_and_is_loaded_on_acceptance(shelf):
    (shelf / "mine").mkdir()
    (shelf / "mine" / "annotations.csv").write_text("task,worker,label\nt1,w1,a\nt1,w2,\n", encoding="utf-8")
    with pytest.raises(DataError, match="mine: 1 row without a label would be left out"):
        cc.load_dataset("mine")
    assert cc.load_dataset("mine", accept=True).n_annotations == 1


def test_a_damaged_folder_is_still_listed(shelf):
    (shelf / "broken").mkdir()
    (shelf / "broken" / "annotations.csv").write_bytes(b"")
    (shelf / ".hidden").mkdir()
    (shelf / ".hidden" / "classes.txt").write_text("a\n", encoding="utf-8")
    (info,) = describe_datasets()
    assert (info.name, info.kind) == ("broken", "damaged")
    assert "This file is empty" in info.reason
    with pytest.raises(DataError, match="This file is empty"):
        cc.load_dataset("broken")

"""Uploads, the catalogue, and files that are bombs."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import crowdcore as cc
from crowdcore.core.errors import DataError, SettingError
from crowdcore.core.files import write_json
from crowdcore.data import catalogue, describe_datasets, examine, rows as arrays, unpack, write_folder
from crowdcore.data.catalogue import NOTE, dataset_title, find_upload, list_uploads, note_of, open_labels, with_pictures
from crowdcore.data.rows import array_shape, open_array, read_npz
from crowdcore.data.settings import RATINGS, KindError
from crowdcore.data.tables import parquet
from crowdcore.data.unpack import unpack_zip
from crowdcore.data.uploads import delete_upload, digest_of, make_dataset, store_upload, stored_file, unpacked_folder
from testkit import bombs
from testkit.bombs import zipped
from testkit.crowds import simulate_crowd

DIGEST = "0123456789abcdef0123"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workspace with a stored file, two datasets of Ann that came of it, and one of Ben."""
    monkeypatch.setenv("CROWDCORE_WORKSPACE", str(tmp_path))
    notes = {
        f"uploads/{DIGEST}": {"name": "votes.csv", "stored": "votes.csv", "owner": "ann", "when": "2026-01-01T10:00"},
        "datasets/votes-1": {"name": "votes", "file": DIGEST, "owner": "ann", "when": "2026-01-01T11:00"},
        "datasets/votes-2": {
            "name": "stars",
            "file": DIGEST,
            "owner": "ann",
            "when": "2026-01-01T12:00",
            "mapping": {"kind": "ratings", "levels": ["a", "b"]},
        },
        "datasets/pets-1": {"name": "votes", "file": "", "owner": "ben", "when": "2026-01-01T13:00"},
    }
    for folder, note in notes.items():
        (tmp_path / folder).mkdir(parents=True)
        write_json(tmp_path / folder / NOTE, {"size": 9, **note})
    (tmp_path / "uploads" / DIGEST / "votes.csv").touch()
    return tmp_path


def test_everybody_lists_their_own_newest_first(home: Path) -> None:
    newest, oldest = list_uploads("ann")
    assert [(one.dataset, one.name, one.rated) for one in (newest, oldest)] == [
        ("votes-2", "stars", True),
        ("votes-1", "votes", False),
    ]
    assert newest.mapping == {"kind": "ratings", "levels": ("a", "b")}
    assert [one.dataset for one in list_uploads("ben")] == ["pets-1"]
    assert list_uploads() == []


def test_a_dataset_is_found_by_what_it_is_called_if_it_is_alone(home: Path) -> None:
    assert dataset_title("votes-2") == "stars" and find_upload("stars") == home / "datasets" / "votes-2"
    assert dataset_title("demo") == "demo" and find_upload("demo") is None
    with pytest.raises(SettingError, match="pets-1, votes-1"):
        find_upload("votes")


def test_a_note_that_changed_is_read_again(home: Path) -> None:
    folder = home / "datasets" / "votes-2"
    assert note_of(folder)["name"] == "stars"
    write_json(folder / NOTE, {"name": "moons"})
    assert note_of(folder) == {"name": "moons"} and note_of(home) == {}


def test_a_stored_file_stays_as_long_as_a_dataset_came_from_it(home: Path) -> None:
    file = home / "uploads" / DIGEST / "votes.csv"
    assert stored_file(DIGEST) == file and digest_of(str(file)) == DIGEST
    assert stored_file("../uploads") is None and digest_of(str(home / "votes.csv")) == ""
    for left, upload in zip((True, False), list_uploads("ann"), strict=True):
        delete_upload(upload)
        assert file.exists() is left and not (home / "datasets" / upload.dataset).exists()
    assert [path.name for path in home.glob("*/*")] == ["pets-1"]


CSV = b"task,worker,label\nt1,ann,cat\nt1,bob,dog\nt2,ann,cat\n"


@pytest.fixture
def empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workspace without anything."""
    monkeypatch.setenv("CROWDCORE_WORKSPACE", str(tmp_path))
    return tmp_path


def test_a_file_may_be_called_as_the_note_is(empty: Path) -> None:
    file = store_upload(NOTE, io.BytesIO(CSV))
    assert file.read_bytes() == CSV and stored_file(digest_of(str(file))) == file
    assert [upload.name for upload in list_uploads()] == [NOTE]


def test_the_same_bytes_of_two_people_are_two_uploads(empty: Path) -> None:
    mine, theirs = (store_upload(name, io.BytesIO(CSV), name[:3]) for name in ("ann.csv", "ben.txt"))
    assert [(one.name, one.file) for one in list_uploads("ann")] == [("ann.csv", digest_of(str(mine)))]
    delete_upload(*list_uploads("ben"))
    assert not theirs.exists() and mine.read_bytes() == CSV
    assert store_upload("ann.csv", io.BytesIO(CSV), "ann") == mine and len(list_uploads("ann")) == 1


@pytest.mark.parametrize("name", ["é" * 124 + ".csv", "x" * 250, "." * 9, "", "..\\a\udc80\n.csv", "a." + "b" * 200])
def test_a_name_of_any_length_is_stored(empty: Path, name: str) -> None:
    file = store_upload(name, io.BytesIO(CSV))
    assert file.read_bytes() == CSV and len(file.name.encode()) < 130
    assert file.suffix == ".csv" or not name.endswith(".csv")
    assert stored_file(digest_of(str(file))) == file and len(list_uploads()) == 1


def test_an_archive_from_several_windows_at_once_is_whole_for_each(empty: Path) -> None:
    packed = zipped({f"{k:03d}.csv": CSV * 50 for k in range(300)})
    with ThreadPoolExecutor(4) as pool:
        paths = list(pool.map(lambda _: unpacked_folder(store_upload("a.zip", io.BytesIO(packed))), range(4)))
    assert len({*paths}) == 1
    assert len(list(paths[0].iterdir())) == 300 and all(file.read_bytes() == CSV * 50 for file in paths[0].iterdir())
    (home,) = (empty / "uploads").iterdir()
    assert sorted(path.name for path in home.iterdir()) == ["content", "unpacked", NOTE]


def test_an_archive_that_is_refused_leaves_nothing(empty: Path) -> None:
    with pytest.raises(DataError, match="damaged"):
        unpacked_folder(store_upload("a.zip", io.BytesIO(zipped({"a": CSV * 99})[:-30])))
    (home,) = (empty / "uploads").iterdir()
    assert sorted(path.name for path in home.iterdir()) == ["content", NOTE]


def test_an_archive_of_an_earlier_version_is_unpacked_anew(empty: Path) -> None:
    """It lay beside its note, and what it was unpacked to may be incomplete."""
    home = empty / "uploads" / DIGEST
    (home / ".unpacked" / "a").mkdir(parents=True)
    (home / "a.zip").write_bytes(zipped({"a/votes.csv": CSV}))
    write_json(home / NOTE, {"name": "a.zip", "stored": "a.zip", "size": 9, "when": "2026-01-01T10:00", "owner": ""})
    file = stored_file(DIGEST)
    assert file is not None and (unpacked_folder(file) / "a" / "votes.csv").read_bytes() == CSV
    assert [upload.name for upload in list_uploads()] == ["a.zip"]


def test_a_dataset_appears_with_its_note_or_not_at_all(empty: Path) -> None:
    def fail(folder: Path) -> None:
        folder.mkdir()
        raise SettingError("name", "be", "so")

    with pytest.raises(SettingError):
        make_dataset("votes-1", fail)
    assert list((empty / "datasets").iterdir()) == []
    make_dataset("votes-1", lambda folder: write_json(folder / NOTE, {"name": "votes"}))
    assert find_upload("votes") == empty / "datasets" / "votes-1"


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
    with pytest.raises(SettingError, match=r"`name`.*'mime'.*'mine'"):
        cc.load_dataset("mime")


def test_a_folder_here_is_named_by_its_path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "two").mkdir()
    with pytest.raises(SettingError, match=r"`read_dataset\('\./two'\)`.*'\./two'"):
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
    with pytest.raises(KindError, match="apply"):
        cc.analysis.shared_mistakes(reviews)


def test_a_folder_with_losses_says_so_and_is_loaded_on_acceptance(shelf):
    (shelf / "mine").mkdir()
    (shelf / "mine" / "annotations.csv").write_text("task,worker,label\nt1,w1,a\nt1,w2,\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"mine.*1 row"):
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
    with pytest.raises(DataError, match="empty"):
        cc.load_dataset("broken")


GIB = 1 << 30


def test_rows_that_a_footer_promises(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = bombs.parquet_of_many_rows(tmp_path / "many.parquet")
    assert file.stat().st_size < 2_000_000
    monkeypatch.setattr(parquet, "available_memory", lambda: 6 * GIB)
    needed = 200e6 * 3 * parquet.CELL / GIB
    with pytest.raises(DataError, match=rf"200,000,000 rows.*3 columns.*{needed:.1f}.*6.0 GiB"):
        examine(file)


def test_the_same_file_with_as_many_rows_as_fit_is_read(tmp_path: Path) -> None:
    report = examine(bombs.parquet_of_many_rows(tmp_path / "few.parquet", 3 * bombs.ROWS)).report
    assert (report.n_rows, report.n_tasks) == (3 * bombs.ROWS, 1)


def test_a_name_of_megabytes(tmp_path: Path) -> None:
    file = bombs.parquet_of_long_cells(tmp_path / "long.parquet")
    assert file.stat().st_size < 10_000
    with pytest.raises(DataError, match=r"4,194,304 bytes.*long.*65,536") as refused:
        examine(file)
    assert len(str(refused.value)) < 300


@pytest.mark.filterwarnings("ignore::PIL.Image.DecompressionBombWarning")  # Pillow warns, and goes on
def test_an_image_of_many_pixels() -> None:
    bomb = bombs.images(bombs.png(12_000, 12_000))
    assert len(bomb.data) < 200_000
    with pytest.raises(DataError, match=r"Image.*0.*12,000 ×.*12,000 pixels.*50,000,000"):
        bomb[:]


def test_many_images_together(monkeypatch: pytest.MonkeyPatch) -> None:
    bomb = bombs.images(*[bombs.png(1000, 1000)] * 50)
    assert bomb[:2].shape == (2, 1000, 1000, 3)
    monkeypatch.setattr(arrays, "available_memory", lambda: GIB // 8)
    with pytest.raises(DataError, match=r"50 images.*1000.*1000.*3.*memory"):
        bomb[:]


def test_an_archive_that_needs_more_than_a_quarter_of_the_memory(tmp_path, monkeypatch):
    np.savez_compressed(tmp_path / "images.npz", images=np.zeros((2, 3 << 20), np.uint8))
    monkeypatch.setattr(arrays, "available_memory", lambda: 20 << 20)
    with pytest.raises(DataError, match=r"expands.*6 MiB.*5 MiB"):
        open_array(tmp_path / "images.npz")


@pytest.mark.parametrize(
    "shape", ["(-1, 4)", "(3, -4)", "(-2, -6)", "(3, 0)", "(0, 0)", "(1 << 40, 3)", "(3, 4.0)", "7"]
)
@pytest.mark.parametrize("packed", [False, True])
def test_a_shape_that_cannot_be(write: Callable[..., Path], shape: str, packed: bool) -> None:
    raw = bombs.npy(shape, bytes(48))
    file = write(bombs.zipped({"images.npy": raw}) if packed else raw, "images.npz" if packed else "features.npy")
    for read in (array_shape, open_array):
        with pytest.raises(DataError, match="array"):
            read(file)


def test_a_header_that_claims_more_than_the_file_holds(tmp_path: Path) -> None:
    (tmp_path / "features.npy").write_bytes(bombs.npy("(1099511627776, 3)", bytes(48)))
    for read in (array_shape, open_array):
        with pytest.raises(DataError, match=r"claims.*1099511627776.*3"):
            read(tmp_path / "features.npy")


def test_no_rows_are_no_fault(tmp_path: Path) -> None:
    (tmp_path / "features.npy").write_bytes(bombs.npy("(0, 4)"))
    assert array_shape(tmp_path / "features.npy") == open_array(tmp_path / "features.npy").shape == (0, 4)


def test_a_damaged_archive_in_a_folder(tmp_path: Path) -> None:
    crowd = simulate_crowd(30)
    write_folder(crowd, tmp_path / "crowd")
    file = tmp_path / "crowd" / "truth.npz"
    raw = bytearray(bombs.zipped({"omega.npy": bombs.npy("(90,)", np.random.default_rng(0).bytes(360))}))
    raw[60:90] = bytes(30)  # inside the compressed stream
    file.write_bytes(raw)
    with pytest.raises(DataError, match="array"):
        examine(tmp_path / "crowd")
    with pytest.raises(DataError, match="array"):
        read_npz(file, ("omega",))


BOMBS_CSV = b"task,worker,label\nt1,ann,cat\nt1,bob,dog\n"


@pytest.fixture
def refused(tmp_path: Path):
    """``refused(content)`` is the one sentence that refuses an archive; nothing of it stays."""

    def refuse(content: bytes) -> str:
        (tmp_path / "a.zip").write_bytes(content)
        with pytest.raises(DataError) as refused:
            unpack_zip(tmp_path / "a.zip", tmp_path / "inside" / "a")
        assert [path.name for path in tmp_path.rglob("*")] == ["a.zip"] or not list((tmp_path / "inside").iterdir())
        return str(refused.value)

    (tmp_path / "inside").mkdir()
    return refuse


def test_files_and_folders_are_unpacked(tmp_path: Path) -> None:
    (tmp_path / "a.zip").write_bytes(zipped({"crowd/": b"", "crowd/a.csv": BOMBS_CSV, "b.csv": BOMBS_CSV}))
    unpack_zip(tmp_path / "a.zip", tmp_path / "a")
    assert (tmp_path / "a" / "crowd" / "a.csv").read_bytes() == (tmp_path / "a" / "b.csv").read_bytes() == BOMBS_CSV


@pytest.mark.parametrize("name", ["../out.csv", "/etc/out.csv", "a/../../out.csv", "a\\..\\out.csv"])
def test_a_name_that_leads_outside(refused, name: str) -> None:
    assert "is outside the archive's folder" in refused(zipped({"fine.csv": BOMBS_CSV, name: BOMBS_CSV}))


@pytest.mark.parametrize("names", [("a", "a/b"), ("a/b", "a"), ("a/b/c", "a/b")])
def test_one_name_for_a_file_and_a_folder(refused, names: tuple[str, str]) -> None:
    assert "a file and a folder" in refused(zipped(dict.fromkeys(names, BOMBS_CSV)))


def test_too_many_bytes(refused, monkeypatch: pytest.MonkeyPatch) -> None:
    bomb = zipped({"a": bytes(4 << 20)})
    monkeypatch.setattr(unpack, "FREELY", 1 << 20)
    assert f"more than {200 * len(bomb) / 2**30:.3g} GiB, 200 times" in refused(bomb)
    monkeypatch.setattr(unpack, "EXPANDED", 1 << 20)
    assert "more than 0.000977 GiB" in refused(bomb)


def test_a_size_that_lies(refused, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unpack, "EXPANDED", 1 << 20)
    lie = zipped({"a": bytes(2 << 20)}).replace((2 << 20).to_bytes(4, "little"), (9).to_bytes(4, "little"))
    assert "damaged" in refused(lie)


def test_more_files_than_may_be(refused, monkeypatch: pytest.MonkeyPatch) -> None:
    few, many = (zipped({f"{number:04d}": b"" for number in range(n)}) for n in (11, 100))
    monkeypatch.setattr(unpack, "MEMBERS", 10)
    assert "or 10 files" in refused(few)
    monkeypatch.setattr(zipfile, "ZipFile", pytest.fail)  # so long a list is not even read
    assert "lists more than 10 files" in refused(many)


@pytest.mark.parametrize("broken", [b"", b"PK\x03\x04", zipped({"a": BOMBS_CSV * 99})[:-30]])
def test_a_damaged_archive(refused, broken: bytes) -> None:
    assert "This archive is damaged" in refused(broken)


def test_a_damaged_stream(refused) -> None:
    content = zipped({"a": BOMBS_CSV * 100})
    assert "This archive is damaged" in refused(content[:40] + bytes(20) + content[60:])

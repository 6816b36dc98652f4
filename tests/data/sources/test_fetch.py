"""Datasets are fetched, whole or not at all."""

from __future__ import annotations

import hashlib
import json
import tarfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import crowdcore as cc
from crowdcore.core.errors import DataError, SettingError
from crowdcore.data import sources
from crowdcore.data.sources._download import DownloadError, download, remember
from tests.data.sources import archives
from tests.data.sources.server import Server

LABELME, MUSIC = "/deep_LabelMe.tar.gz", "/mturk-datasets.tar.gz"


def test_the_folder_is_the_registry() -> None:
    assert sources.names() == ["cifar10n", "labelme", "music"]
    for name in sources.names():
        source = sources.get(name)
        assert source.name == name and source.title and source.paper and source.licence
        assert all(file.url.startswith("http") for file in source.files)
        assert all(file.sha256 is None for file in source.files)  # none is known for certain
    with pytest.raises(SettingError, match="'music'"):
        sources.get("musik")


def test_labelme(server: Server, cache: Path) -> None:
    members, expected = archives.labelme()
    body = archives.tar_gz(members)
    server.serve(LABELME, body)
    assert sources.fetch("labelme", url_base=server.url) == cache / "labelme"
    ds = cc.load_dataset("labelme")
    assert ds.classes == tuple(archives.SCENES)
    np.testing.assert_array_equal(ds.gold, expected["gold"])
    np.testing.assert_array_equal(np.bincount(ds.split), list(archives.SIZES.values()))
    answers = np.full(expected["answers"].shape, -1)
    answers[ds.task, [int(w[1:]) - 1 for w in ds.worker_ids[ds.worker]]] = ds.label
    np.testing.assert_array_equal(answers, expected["answers"])
    assert list(ds.worker_ids) == [f"w{r:04d}" for r in range(1, 6)]
    np.testing.assert_array_equal(np.asarray(ds.features), expected["features"])
    images = ds.media.columns["image"]
    assert images.notna().sum() == 15 and (ds.media.folder / images.iloc[0]).is_file()
    assert {p.name for p in (cache / "labelme").iterdir() if p.is_dir()} == {"images"}
    readme = (cache / "labelme/README.md").read_text()
    assert hashlib.sha256(body).hexdigest() in readme and f"{ds.annotated.sum()} of them annotated" in readme
    assert cc.list_datasets().count("labelme") == 1


def test_labelme_without_images(server: Server, cache: Path) -> None:
    server.serve(LABELME, archives.tar_gz(archives.labelme(images=False)[0]))
    sources.fetch("labelme", url_base=server.url)
    ds = cc.load_dataset("labelme")
    assert ds.media is None or ds.media.columns is None


def test_labelme_gives_the_published_figures(server: Server, cache: Path, data_folder: Path) -> None:
    """The real annotations, packed as the release packs them: street → insidecity 61.0 %, opencountry → forest 44.1."""
    real = cc.read_dataset(data_folder / "labelme")
    answers = np.full((1000, 77), -1)
    column = np.delete(np.arange(77), np.arange(3, 75, 4))  # 18 workers without an answer in between
    answers[real.task, column[real.worker]] = real.label
    members = {"LabelMe/answers.txt": "\n".join(" ".join(map(str, row)) for row in answers).encode()}
    for s, split in enumerate(("train", "valid", "test")):
        gold = real.gold[real.split == s]
        members[f"LabelMe/prepared/labels_{split}.npy"] = archives.npy(gold)
        members[f"LabelMe/prepared/data_{split}_vgg16.npy"] = archives.npy(np.zeros((len(gold), 1, 1, 1), np.float32))
    server.serve(LABELME, archives.tar_gz(members))
    sources.fetch("labelme", url_base=server.url)
    ds = cc.load_dataset("labelme")
    assert (ds.n_workers, ds.n_annotations) == (59, 2547)
    np.testing.assert_array_equal(ds.label, real.label)
    np.testing.assert_array_equal(ds.worker_ids[ds.worker], real.worker_ids[real.worker])
    percent = cc.analysis.shared_mistakes(ds).percent
    street, insidecity, opencountry, forest = (
        ds.classes.index(c) for c in ("street", "insidecity", "opencountry", "forest")
    )
    assert round(percent[street, insidecity], 3) == 61.017
    assert round(percent[opencountry, forest], 3) == 44.068


def test_music(server: Server, cache: Path) -> None:
    members, tables = archives.music()
    server.serve(MUSIC, archives.tar_gz(members))
    sources.fetch("music", url_base=server.url)
    ds = cc.load_dataset("music")
    train, test, answers = tables.values()
    assert ds.classes == tuple(archives.GENRES)
    assert list(ds.task_ids) == [*train["id"], *test["id"]]
    assert [ds.classes[c] for c in ds.gold] == [*train["class"], *test["class"]]
    np.testing.assert_array_equal(np.bincount(ds.split, minlength=3), [20, 0, 8])
    number = {"A1B2": "w0001", "A3ZZ": "w0002", "AXYZ": "w0003"}
    by_pair = sorted(
        zip(answers["Input.song"], answers["WorkerID"].map(number), answers["Answer.pred_label"], strict=True)
    )
    frame = ds.annotations.astype(str)
    assert sorted(zip(frame["task"], frame["worker"], frame["label"], strict=True)) == by_pair
    features = pd.concat([train, test]).drop(columns=["id", "class"]).to_numpy(np.float32)
    np.testing.assert_array_equal(np.asarray(ds.features), features)


def test_cifar10n(server: Server, cache: Path) -> None:
    labels, table = archives.cifar10n()
    archives.serve_cifar10n(server, labels, table.sample(frac=1, random_state=0))  # batches in any order
    seen = set()
    sources.fetch("cifar10n", url_base=server.url, progress=lambda name, _done, _total: seen.add(name))
    assert seen == {"CIFAR-10_human.pt", "side_info_cifar10N.csv"}
    ds = cc.load_dataset("cifar10n")
    np.testing.assert_array_equal(ds.gold, labels["clean_label"])
    assert ds.n_annotations == 120
    for i in (0, 13, 39):
        batch = table.iloc[i // 10]
        pairs = {
            (f"w{batch[f'Worker{k}-id'] + 1:04d}", labels[f"random_label{k}"][i], k, batch[f"Work-time-in-seconds-{k}"])
            for k in (1, 2, 3)
        }
        of = ds.task == i
        extra = ds.extra[of]
        got = zip(
            ds.worker_ids[ds.worker[of]], ds.label[of], extra["label_column"], extra["batch_seconds"], strict=True
        )
        assert {(w, int(y), int(k), int(s)) for w, y, k, s in got} == pairs


def test_what_is_there_is_not_fetched_again_unless_forced(server: Server, cache: Path) -> None:
    served = server.serve(MUSIC, archives.tar_gz(archives.music()[0]))
    sources.fetch("music", url_base=server.url)
    sources.fetch("music", url_base=server.url)
    assert len(served.requests) == 1
    sources.fetch("music", url_base=server.url, force=True)
    assert len(served.requests) == 2
    assert cc.load_dataset("music").n_tasks == 28
    assert [p.name for p in (cache.parent / "downloads/music").iterdir()] == ["mturk-datasets.tar.gz.sha256"]


def test_interrupted_and_resumed(server: Server, cache: Path) -> None:
    body = archives.tar_gz(archives.labelme()[0])
    served = server.serve(LABELME, body, break_after=[1000, 2000, 3000])
    with pytest.raises(DownloadError, match=r"6000 bytes.*command"):
        sources.fetch("labelme", url_base=server.url)
    assert not any(cache.glob("*"))
    sources.fetch("labelme", url_base=server.url)
    assert [r.get("Range") for r in served.requests] == [None, "bytes=1000-", "bytes=3000-", "bytes=6000-"]
    assert cc.load_dataset("labelme").n_tasks == sum(archives.SIZES.values())


def test_a_changed_file_is_refused_and_the_old_dataset_stays(server: Server, cache: Path) -> None:
    server.serve(MUSIC, archives.tar_gz(archives.music(seed=0)[0]))
    sources.fetch("music", url_base=server.url)
    before = cc.load_dataset("music").fingerprint
    server.serve(MUSIC, archives.tar_gz(archives.music(seed=1)[0]), etag='"v2"')
    with pytest.raises(DownloadError, match=r"SHA-256 \w{64}, but \w{64}"):
        sources.fetch("music", url_base=server.url, force=True)
    assert cc.load_dataset("music").fingerprint == before


def test_a_truncated_archive_leaves_nothing_and_is_not_remembered(server: Server, cache: Path) -> None:
    body = archives.tar_gz(archives.labelme()[0])
    server.serve(LABELME, body[: len(body) // 2])
    with pytest.raises(DataError, match="Fetch"):
        sources.fetch("labelme", url_base=server.url)
    assert not any(cache.glob("*"))
    assert list((cache.parent / "downloads/labelme").iterdir()) == []
    server.serve(LABELME, body, etag='"v2"')
    sources.fetch("labelme", url_base=server.url)
    assert cc.load_dataset("labelme").n_annotations > 0


def test_an_interrupted_conversion_keeps_what_was_downloaded(server, cache, monkeypatch):
    served = server.serve(MUSIC, archives.tar_gz(archives.music()[0]))

    def interrupted(*_args: object, **_settings: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as during, pytest.raises(KeyboardInterrupt):
        during.setattr("crowdcore.data.sources._download.write_folder", interrupted)
        sources.fetch("music", url_base=server.url)
    assert [p.name for p in (cache.parent / "downloads/music").iterdir()] == ["mturk-datasets.tar.gz"]
    sources.fetch("music", url_base=server.url)
    assert len(served.requests) == 1 and cc.load_dataset("music").n_tasks == 28


def test_no_archive_at_all(server: Server, cache: Path) -> None:
    server.serve(MUSIC, b"<html>The site has moved.</html>")
    with pytest.raises(DataError, match="short"):
        sources.fetch("music", url_base=server.url)
    with pytest.raises(DownloadError, match=r"answered.*404"):
        sources.fetch("labelme", url_base=server.url)
    assert not any(cache.glob("*"))


@pytest.mark.parametrize(
    "name", ["../../outside.txt", "{tmp_path}/outside.txt", "LabelMe/../../../outside.txt", "..\\outside.txt"]
)
def test_members_that_lead_outside_are_refused(server: Server, cache: Path, tmp_path: Path, name: str) -> None:
    server.serve(LABELME, archives.tar_gz({name.format(tmp_path=tmp_path): b"gotcha", **archives.labelme()[0]}))
    with pytest.raises(DataError, match="refused"):
        sources.fetch("labelme", url_base=server.url)
    assert not list(tmp_path.rglob("outside*"))  # which holds the cache, and what is unpacked lies deep in it
    assert not any(cache.glob("*"))


def test_links_and_devices_are_not_written(server: Server, cache: Path, write: Callable[..., Path]) -> None:
    members = archives.labelme(images=False)[0]
    secret = write("secret", "secret")
    wanted = "LabelMe/prepared/labels_train.npy"
    link = tarfile.TarInfo("LabelMe/labels_secret.txt")
    link.type, link.linkname = tarfile.SYMTYPE, str(secret)
    device = tarfile.TarInfo("LabelMe/device.txt")
    device.type = tarfile.CHRTYPE
    server.serve(LABELME, archives.tar_gz(members, [link, device]))
    sources.fetch("labelme", url_base=server.url)
    replaced = tarfile.TarInfo(wanted)
    replaced.type, replaced.linkname = tarfile.SYMTYPE, str(secret)
    server.serve(LABELME, archives.tar_gz({k: v for k, v in members.items() if k != wanted}, [replaced]), etag='"2"')
    (cache.parent / "downloads/labelme/deep_LabelMe.tar.gz.sha256").unlink()
    with pytest.raises(DataError, match="source"):
        sources.fetch("labelme", url_base=server.url, force=True)


def test_an_archive_that_unpacks_to_too_much(server: Server, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("crowdcore.data.sources._download._UNPACKED", 10_000)
    server.serve(LABELME, archives.tar_gz(archives.labelme()[0]))
    with pytest.raises(DataError, match="unpacks"):
        sources.fetch("labelme", url_base=server.url)


def test_a_malicious_pickle_executes_nothing(server: Server, cache: Path, tmp_path: Path) -> None:
    labels, table = archives.cifar10n()
    trap = tmp_path / "executed"

    class Hostile:
        def __reduce__(self) -> tuple[object, ...]:
            return (Path.touch, (trap,))

    archives.serve_cifar10n(server, {**labels, "clean_label": Hostile()}, table)  # type: ignore[dict-item]
    with pytest.raises(DataError, match=r"executed.*10"):
        sources.fetch("cifar10n", url_base=server.url)
    assert not trap.exists() and not any(cache.glob("*"))


BODY = np.random.default_rng(0).bytes(700_000)
SHA = hashlib.sha256(BODY).hexdigest()


def get(server: Server, folder: Path, **settings) -> str:
    return download(f"{server.url}/file.bin", folder / "file.bin", pause=0.0, timeout=5.0, **settings)


def test_whole_file_with_progress(server: Server, tmp_path: Path) -> None:
    server.serve("/file.bin", BODY)
    seen: list[tuple[str, int, int | None]] = []
    assert get(server, tmp_path / "new", progress=lambda *step: seen.append(step)) == SHA
    assert (tmp_path / "new/file.bin").read_bytes() == BODY
    assert [p.name for p in (tmp_path / "new").iterdir()] == ["file.bin"]
    assert seen[0] == ("file.bin", 0, len(BODY)) and seen[-1] == ("file.bin", len(BODY), len(BODY))
    assert [done for _, done, _ in seen] == sorted(done for _, done, _ in seen)


def test_an_agent_that_is_not_urllibs(server: Server, tmp_path: Path) -> None:
    served = server.serve("/file.bin", BODY)
    get(server, tmp_path)
    assert served.requests[0]["User-Agent"].startswith("Mozilla/5.0 (compatible; crowdcore")


def test_what_is_here_is_not_fetched_again(server: Server, tmp_path: Path) -> None:
    served = server.serve("/file.bin", BODY)
    get(server, tmp_path)
    assert get(server, tmp_path) == SHA
    assert len(served.requests) == 1


def test_goes_on_where_it_broke_off_within_one_call(server: Server, tmp_path: Path) -> None:
    served = server.serve("/file.bin", BODY, break_after=[300_000, 100_000])
    seen: list[int] = []
    assert get(server, tmp_path, progress=lambda _n, done, _t: seen.append(done)) == SHA
    assert [r.get("Range") for r in served.requests] == [None, "bytes=300000-", "bytes=400000-"]
    assert [r.get("If-Range") for r in served.requests] == [None, '"v1"', '"v1"']
    assert seen == sorted(seen)  # never back to the start


def test_goes_on_in_a_later_call(server: Server, tmp_path: Path) -> None:
    served = server.serve("/file.bin", BODY, break_after=[250_000])
    with pytest.raises(DownloadError, match=r"ended.*250000.*700000 bytes.*250000 bytes"):
        get(server, tmp_path, attempts=1)
    assert (tmp_path / "file.bin.part").stat().st_size == 250_000
    assert not (tmp_path / "file.bin").exists()
    assert get(server, tmp_path, attempts=1) == SHA
    assert served.requests[-1]["Range"] == "bytes=250000-"


def test_a_file_that_changed_in_between_is_started_over(server: Server, tmp_path: Path) -> None:
    server.serve("/file.bin", BODY, break_after=[250_000])
    with pytest.raises(DownloadError):
        get(server, tmp_path, attempts=1)
    served = server.serve("/file.bin", BODY[::-1], etag='"v2"')
    assert get(server, tmp_path, attempts=1) == hashlib.sha256(BODY[::-1]).hexdigest()
    assert served.requests[0]["If-Range"] == '"v1"'


def test_a_server_without_ranges_is_started_over(server: Server, tmp_path: Path) -> None:
    server.serve("/file.bin", BODY, break_after=[250_000], ranges=False, etag=None)
    assert get(server, tmp_path) == SHA


def test_a_weak_etag_is_not_used_to_join(server: Server, tmp_path: Path) -> None:
    served = server.serve("/file.bin", BODY, break_after=[250_000], etag='W/"v1"')
    assert get(server, tmp_path) == SHA
    assert "If-Range" not in served.requests[1] and served.requests[1]["Range"] == "bytes=250000-"


def test_a_part_begun_elsewhere_or_of_unknown_origin_is_dropped(server: Server, tmp_path: Path) -> None:
    served = server.serve("/file.bin", BODY)
    (tmp_path / "file.bin.part").write_bytes(b"something else")
    assert get(server, tmp_path) == SHA
    (tmp_path / "file.bin").unlink()
    (tmp_path / "file.bin.part").write_bytes(b"something else")
    (tmp_path / "file.bin.part.json").write_text(json.dumps({"url": "http://elsewhere/", "validator": None}))
    assert get(server, tmp_path) == SHA
    assert [r.get("Range") for r in served.requests] == [None, None]


def test_a_part_that_is_already_whole(server: Server, tmp_path: Path) -> None:
    served = server.serve("/file.bin", BODY)
    (tmp_path / "file.bin.part").write_bytes(BODY)
    (tmp_path / "file.bin.part.json").write_text(json.dumps({"url": f"{server.url}/file.bin", "validator": '"v1"'}))
    assert get(server, tmp_path) == SHA
    assert served.requests[0]["Range"] == "bytes=700000-"


def test_a_part_longer_than_the_file_is_started_over(server: Server, tmp_path: Path) -> None:
    server.serve("/file.bin", BODY)
    (tmp_path / "file.bin.part").write_bytes(BODY + b"more")
    (tmp_path / "file.bin.part.json").write_text(json.dumps({"url": f"{server.url}/file.bin", "validator": None}))
    assert get(server, tmp_path) == SHA


def test_a_server_that_goes_on_from_another_place(server: Server, tmp_path: Path) -> None:
    served = server.serve("/file.bin", BODY, break_after=[250_000], wrong_range=True)
    assert get(server, tmp_path) == SHA
    assert [r.get("Range") for r in served.requests] == [None, "bytes=250000-", None]


def test_unknown_length(server: Server, tmp_path: Path) -> None:
    server.serve("/file.bin", BODY, length=False)
    totals: list[int | None] = []
    assert get(server, tmp_path, progress=lambda _n, _d, total: totals.append(total)) == SHA
    assert set(totals) == {None}


def test_wrong_pinned_hash(server: Server, tmp_path: Path) -> None:
    server.serve("/file.bin", BODY)
    with pytest.raises(DownloadError, match=rf"256.*{SHA}"):
        get(server, tmp_path, sha256="0" * 64)
    assert not (tmp_path / "file.bin").exists() and not (tmp_path / "file.bin.part").exists()
    assert get(server, tmp_path, sha256=SHA) == SHA


def test_another_file_than_the_first_time(server: Server, tmp_path: Path) -> None:
    server.serve("/file.bin", BODY)
    remember(tmp_path / "file.bin", get(server, tmp_path))
    (tmp_path / "file.bin").unlink()
    server.serve("/file.bin", BODY + b"!", etag='"v2"')
    with pytest.raises(DownloadError, match=rf"{SHA}.*256"):
        get(server, tmp_path)
    (tmp_path / "file.bin.sha256").unlink()  # as the sentence says
    assert get(server, tmp_path) == hashlib.sha256(BODY + b"!").hexdigest()


def test_a_damaged_file_on_disk_is_noticed(server: Server, tmp_path: Path) -> None:
    server.serve("/file.bin", BODY)
    remember(tmp_path / "file.bin", get(server, tmp_path))
    (tmp_path / "file.bin").write_bytes(BODY[:-1])
    with pytest.raises(DownloadError, match="was damaged"):
        get(server, tmp_path)
    assert get(server, tmp_path) == SHA


def test_no_such_file_is_not_tried_again(server: Server, tmp_path: Path) -> None:
    with pytest.raises(DownloadError, match=r"answered.*404"):
        get(server, tmp_path)
    served = server.serve("/file.bin", BODY, status=[403, 200])
    with pytest.raises(DownloadError, match="answered 403"):
        get(server, tmp_path)
    assert len(served.requests) == 1


def test_a_busy_server_is_tried_again(server: Server, tmp_path: Path) -> None:
    server.serve("/file.bin", BODY, status=[503, 500])
    assert get(server, tmp_path) == SHA
    server.serve("/file.bin", BODY, status=[503] * 3)
    (tmp_path / "file.bin").unlink()
    with pytest.raises(DownloadError, match=r"server.*503.*0 bytes"):
        get(server, tmp_path)


def test_nobody_listens(server: Server, tmp_path: Path) -> None:
    server.serve("/file.bin", BODY)
    server.close()
    with pytest.raises(DownloadError, match="completely"):
        get(server, tmp_path)
    server.__init__()  # type: ignore[misc]  # so that the fixture has something to close


@pytest.mark.parametrize("length", [True, False])
def test_too_large(server: Server, tmp_path: Path, length: bool) -> None:
    server.serve("/file.bin", BODY, length=length)
    with pytest.raises(DownloadError, match="700000" if length else "500000"):
        get(server, tmp_path, limit=500_000)


@pytest.mark.parametrize("url", ["file:///etc/passwd", "ftp://127.0.0.1/x", "/etc/passwd"])
def test_only_the_web(tmp_path: Path, url: str) -> None:
    with pytest.raises(DownloadError, match="address"):
        download(url, tmp_path / "x")

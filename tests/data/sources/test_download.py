"""Downloads from a local server that breaks off, changes its mind, lies and refuses."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest

from crowdcore.data.sources._download import DownloadError, download, remember
from tests.data.sources.server import Server

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
    with pytest.raises(DownloadError, match=r"ended after 250000 of 700000 bytes. 250000 bytes are kept; run the same"):
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
    with pytest.raises(DownloadError, match=rf"has the SHA-256 {SHA}, but {'0' * 64} is pinned.*It was deleted"):
        get(server, tmp_path, sha256="0" * 64)
    assert not (tmp_path / "file.bin").exists() and not (tmp_path / "file.bin.part").exists()
    assert get(server, tmp_path, sha256=SHA) == SHA


def test_another_file_than_the_first_time(server: Server, tmp_path: Path) -> None:
    server.serve("/file.bin", BODY)
    remember(tmp_path / "file.bin", get(server, tmp_path))
    (tmp_path / "file.bin").unlink()
    server.serve("/file.bin", BODY + b"!", etag='"v2"')
    with pytest.raises(DownloadError, match=rf"{SHA} is recorded in .*file.bin.sha256 when it was first fetched"):
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
    with pytest.raises(DownloadError, match=r"file.bin answered 404 \(Not Found\): the file is not there any more."):
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
    with pytest.raises(DownloadError, match=r"the server answered 503 .* 0 bytes are kept"):
        get(server, tmp_path)


def test_nobody_listens(server: Server, tmp_path: Path) -> None:
    server.serve("/file.bin", BODY)
    server.close()
    with pytest.raises(DownloadError, match=r"could not be fetched completely: .*refused"):
        get(server, tmp_path)
    server.__init__()  # type: ignore[misc]  # so that the fixture has something to close


@pytest.mark.parametrize("length", [True, False])
def test_too_large(server: Server, tmp_path: Path, length: bool) -> None:
    server.serve("/file.bin", BODY, length=length)
    with pytest.raises(DownloadError, match=r"(has 700000 bytes, more than|passed) the 500000"):
        get(server, tmp_path, limit=500_000)


@pytest.mark.parametrize("url", ["file:///etc/passwd", "ftp://127.0.0.1/x", "/etc/passwd"])
def test_only_the_web(tmp_path: Path, url: str) -> None:
    with pytest.raises(DownloadError, match="not an http or https address"):
        download(url, tmp_path / "x")

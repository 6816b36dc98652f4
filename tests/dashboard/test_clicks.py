"""A click on a download button counts while the page is drawn anew."""

from __future__ import annotations

import subprocess
import sys
from collections import OrderedDict
from unittest.mock import Mock

import pytest
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime.forward_msg_queue import ForwardMsgQueue
from streamlit.runtime.media_file_manager import MediaFileManager
from streamlit.runtime.media_file_storage import MediaFileStorageError
from streamlit.runtime.memory_media_file_storage import MemoryMediaFileStorage

from dashboard import clicks
from tests.conftest import ROOT

clicks.keep_clicks()


def drawn(manager: MediaFileManager, content: str) -> str:
    """The number of a button after a run of the script that draws it."""
    manager.clear_session_refs()
    number = manager.add_deferred(lambda: content, "text/csv", "1.0", "votes.csv", element_id="votes")
    manager.remove_orphaned_files()
    return number


def content(manager: MediaFileManager, number: str) -> bytes:
    file = manager.read_file(manager.execute_deferred(number).rpartition("/")[2].removesuffix(".csv"))
    assert file is not None
    return file.content


def test_the_button_of_an_earlier_run_still_gives_its_file():
    manager = MediaFileManager(MemoryMediaFileStorage("/media"))
    first = drawn(manager, "first")
    second = drawn(manager, "second")
    assert (content(manager, first), content(manager, first), content(manager, second)) == (
        b"first",
        b"first",
        b"second",
    )


def test_a_button_of_long_ago_gives_none(monkeypatch):
    manager = MediaFileManager(MemoryMediaFileStorage("/media"))
    monkeypatch.setattr(clicks, "_anew", OrderedDict())
    monkeypatch.setattr(clicks, "time", Mock(monotonic=Mock(side_effect=[0.0, 1.0, 40.0])))
    first = drawn(manager, "first")
    second = drawn(manager, "second")
    assert content(manager, first) == b"first"
    drawn(manager, "third")
    manager.clear_session_refs()
    manager.remove_orphaned_files()
    with pytest.raises(MediaFileStorageError, match="not found"):
        manager.execute_deferred(second)


@pytest.mark.parametrize("fragments", [None, ["live"]])
def test_an_answer_to_a_click_outlives_the_start_of_a_run_and_is_sent_once(fragments):
    queue, answer, drawing = ForwardMsgQueue(), ForwardMsg(), ForwardMsg()
    answer.backend_operation_response.request_id = "click"
    drawing.delta.fragment_id = "live"
    queue.enqueue(answer)
    queue.enqueue(drawing)
    queue.clear(retain_lifecycle_msgs=True, fragment_ids_this_run=fragments)
    assert queue.flush() == [answer]
    assert queue.flush() == []


def test_an_untested_release_of_streamlit_is_left_as_it_is() -> None:
    code = (
        "from streamlit.runtime.media_file_manager import MediaFileManager\n"
        "from dashboard import clicks\n"
        "before = vars(MediaFileManager).copy()\n"
        "assert not clicks.keep_clicks('99.1.0') and vars(MediaFileManager) == before\n"
        "assert clicks.keep_clicks('1.67.3') and vars(MediaFileManager) != before\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)

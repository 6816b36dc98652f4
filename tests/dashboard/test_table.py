"""Clicks and tables of the app: the choice of a click, and the format of numbers and texts."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import OrderedDict
from unittest.mock import Mock

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime.forward_msg_queue import ForwardMsgQueue
from streamlit.runtime.media_file_manager import MediaFileManager
from streamlit.runtime.media_file_storage import MediaFileStorageError
from streamlit.runtime.memory_media_file_storage import MemoryMediaFileStorage

from crowdcore import load_dataset
from crowdcore.exhibits import verdicts, view
from crowdcore.exhibits.worker_words import knowledge
from dashboard import clicks
from dashboard.components.table import without_minus_zero
from dashboard.components.text import as_text, count, listed, number, percent
from tests.conftest import ROOT


def test_what_rounds_to_zero_has_no_minus_sign() -> None:
    frame = pd.DataFrame(
        {
            "κ low": [-0.004, -0.006, np.nan],
            "share": [-0.0004, 0.1234, 1.0],
            "accuracy without": [-0.00004, -0.0015, 0.0],
            "labels": [1, 2, 3],
            "reason": ["a", "b", "c"],
        }
    )
    shown = without_minus_zero(frame)
    assert not np.signbit(shown[["κ low", "share", "accuracy without"]].iloc[0]).any()
    assert shown["κ low"].tolist()[:2] == [0.0, -0.006]
    assert shown["share"].tolist() == [0.0, 12.34, 100.0]
    assert shown["accuracy without"].tolist() == [0.0, -0.15, 0.0]
    assert shown[["labels", "reason"]].equals(frame[["labels", "reason"]])
    assert number(-0.0004) == "0.000"


def test_a_small_negative_kappa_is_written_as_zero(data_folder: object) -> None:
    seen = view(load_dataset("labelme"), "gold")
    low = verdicts.worker_verdicts(seen).table.set_index("worker")["κ low"]
    assert -0.005 < low["w0047"] < 0
    assert knowledge(verdicts.workers_judged(seen), seen.worker_number("w0047")).split()[-4:] == ["0", "to", "64", "%"]


@given(st.text())
def test_nothing_is_left_that_markdown_reads(text: str) -> None:
    shown = as_text(text)
    assert not re.search(r"(?<!\\)(\\\\)*[*_`\[\]<>#$|~&!(){}:+-]", re.sub(r"\\[^A-Za-z0-9\s]", "", shown))
    assert "\n" not in shown


@given(st.text())
def test_unescaping_gives_the_words_back(text: str) -> None:
    plain = re.sub(r"\\([^A-Za-z0-9\s])", r"\1", as_text(text)).replace("\u2060", "")
    assert plain == " ".join(text.split()).replace("\u2060", "")


@pytest.mark.parametrize(
    "text", [":material_home:", "www.example.com", "http://a.b", "me@b.com", "a -> b", "<- a", "a--b"]
)
def test_what_streamlit_rewrites_late_is_broken_up(text: str) -> None:
    assert "\u2060" in as_text(text)


def test_a_list_has_a_line_for_each_item() -> None:
    assert listed("Two faults", ["a_b", "c"], "Correct them.") == "Two faults:\n\n- a\\_b\n- c\n\nCorrect them\\."


def test_numbers() -> None:
    assert count(1, "worker") == "1 worker"
    assert count(36, "worker") == "36 workers"
    assert count(2547, "annotation") == "2,547 annotations"
    assert count(0, "class", "classes") == "0 classes"
    assert percent(0.6101695) == "61.0 %"
    assert percent(float("nan")) == "–"
    assert number(1.11624) == "1.116"
    assert number(float("nan")) == "–"


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

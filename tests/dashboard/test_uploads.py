"""What users bring along: stored, unpacked within bounds, examined, taken in."""

from __future__ import annotations

import io
import json
import resource
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from crowdcore.core.errors import CrowdError, DataError
from crowdcore.core.files import workspace
from crowdcore.data.uploads import upload_folder
from dashboard.services import datasets, opening, uploads
from testkit import bombs
from testkit.crowds import simulate_crowd
from testkit.exports import STUDIO

CSV = b"task,worker,label\nt1,ann,cat\nt1,bob,dog\nt2,ann,cat\n"


def packed(**files: bytes) -> io.BytesIO:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return content


def test_a_file_is_stored_once_inside_the_workspace(workspace: Path) -> None:
    first = uploads.receive("../../a b;c.csv", io.BytesIO(CSV))
    again = uploads.receive("../../a b;c.csv", io.BytesIO(CSV))
    assert first == again
    assert Path(first).is_relative_to(workspace)
    assert Path(first).read_bytes() == CSV
    assert uploads.receive("a.csv", io.BytesIO(CSV + b"t2,bob,cat\n")) != first


def test_a_file_is_examined_accepted_and_opened(workspace: Path) -> None:
    found = uploads.examine(uploads.receive("my crowd.csv", io.BytesIO(CSV + b"t3,ann,\n")), ())
    assert not isinstance(found, tuple)
    assert found.report.n_annotations == 3
    name = uploads.accept(found)
    assert name.startswith("my-crowd-")
    assert upload_folder(name) is not None
    assert name in datasets.names()
    opened = opening.dataset(name)
    assert (opened.n_tasks, opened.n_workers, opened.n_annotations) == (3, 2, 3)
    assert uploads.accept(found) == name


def test_columns_that_say_nothing_are_asked_for() -> None:
    path = uploads.receive("odd.csv", io.BytesIO(b"foo,who,says\n1,ann,cat\n2,bob,dog\n"))
    assert uploads.examine(path, ()) == (("foo", "who", "says"), {})
    found = uploads.examine(path, (("label", "says"), ("task", "foo"), ("worker", "who")))
    assert not isinstance(found, tuple)
    assert found.report.n_workers == 2


def test_a_dataset_folder_comes_as_a_zip() -> None:
    from crowdcore.data.writers import write_folder

    crowd = simulate_crowd(30)
    folder = workspace() / "made"
    folder.parent.mkdir(parents=True)
    write_folder(crowd, folder)
    files = {f"made/{f.name}": f.read_bytes() for f in folder.iterdir()}
    path = uploads.receive("made.zip", packed(**files))
    found = uploads.examine(path, ())
    assert not isinstance(found, tuple)
    opened = opening.dataset(uploads.accept(found))
    assert np.array_equal(opened.label, crowd.label)
    assert np.array_equal(opened.gold, crowd.gold)


def test_a_workbook_is_not_unpacked_and_its_refusal_says_what_to_do() -> None:
    path = uploads.receive("votes.xlsx", packed(**{"[Content_Types].xml": b"", "xl/workbook.xml": b""}))
    with pytest.raises(DataError, match=r"^This workbook cannot be read .* \(votes.xlsx\). Save the sheet as CSV"):
        uploads.examine(path, ())


def test_a_zip_that_leads_outside_is_refused(workspace: Path) -> None:
    with pytest.raises(DataError, match="is outside the archive's folder"):
        uploads.receive("bad.zip", packed(**{"../out.csv": CSV}))
    assert not list(workspace.parent.rglob("out.csv"))


def test_a_class_for_every_text_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = "".join(f"t{n},ann,text {n}\n" for n in range(400))
    found = uploads.examine(uploads.receive("texts.csv", io.BytesIO(f"task,worker,label\n{lines}".encode())), ())
    assert not isinstance(found, tuple)
    monkeypatch.setattr(opening, "available_memory", lambda: 4 << 20)
    with pytest.raises(CrowdError, match=r"'texts' has 400 tasks and 400 classes, whose tables need 0.0 GiB each"):
        uploads.accept(found)


@pytest.mark.parametrize("make", [bombs.parquet_of_many_rows, bombs.parquet_of_long_cells, bombs.csv_of_many_columns])
def test_a_bomb_is_refused_in_one_sentence(
    make: Callable[[Path], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CROWDCORE_EXAMINE_MEMORY", "0.3")
    file = make(tmp_path / "bomb")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with file.open("rb") as content, pytest.raises(CrowdError) as refused:
        uploads.examine(uploads.receive("bomb", content), ())
    assert len(str(refused.value)) < 400
    assert str(tmp_path) not in str(refused.value)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200 << 10  # KiB: nothing unfolded here


def test_a_damaged_zip_is_refused() -> None:
    content = packed(a=CSV * 100).getvalue()
    broken = content[:40] + bytes(20) + content[60:]
    with pytest.raises(DataError, match="damaged"):
        uploads.receive("broken.zip", io.BytesIO(broken))


@pytest.mark.parametrize("name", ["..", ".", "", "../uploads", "a/b", "nothing-here"])
def test_a_name_never_leads_out_of_the_workspace(name: str, workspace: Path) -> None:
    (workspace / "datasets").mkdir(parents=True)
    assert upload_folder(name) is None


def ask_for_columns() -> None:
    import streamlit as st

    from dashboard.components.importer import ask

    ask("odd.csv", st.session_state.setdefault("mapping", {}), ("foo", "who", "says"), {})


def ask_about_a_tool() -> None:
    import streamlit as st

    from dashboard.components.importer import ask_tool

    ask_tool("batch.csv", st.session_state.setdefault("mapping", {}), {"flagged", "several-choices", "repeats"})


def test_several_choices_and_flags_of_a_tool_are_asked_for() -> None:
    test = AppTest.from_function(ask_about_a_tool).run()
    assert [(box.label, box.value) for box in test.selectbox] == [
        ("Several choices", "drop"),
        ("Flagged by the tool", "keep"),
    ]
    test.selectbox[1].select("drop").run()
    assert test.session_state["mapping"] == {"flagged": "drop"}


def open_a_file() -> None:
    from dashboard import state
    from dashboard.components.importer import importer

    state.enter("data")
    importer()
    state.publish()


def test_an_export_of_a_tool_and_a_choice_that_it_leaves_no_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    file = io.BytesIO(json.dumps(STUDIO).encode())
    file.name, file.file_id = "export.json", "1"
    monkeypatch.setattr("streamlit.file_uploader", lambda *_, **__: file)
    test = AppTest.from_function(open_a_file, default_timeout=60).run()
    assert "1 annotation with several choices would be left out" in test.warning[0].value
    boxes = {box.label: box for box in test.selectbox}
    boxes["Several choices"].select("keep").run()
    assert "several choices" not in test.warning[0].value
    boxes["Gold"].select("id").run()
    assert "columns are fixed" in test.error[0].value
    (undo,) = [button for button in test.button if button.label == "Undo the choices"]
    undo.click().run()
    assert "several choices would be left out" in test.warning[0].value
    assert not test.exception


def test_a_choice_of_column_is_not_undone_by_a_run_that_began_before_it() -> None:
    test = AppTest.from_function(ask_for_columns).run()
    test.selectbox[0].select("foo").run()
    assert test.session_state["mapping"] == {"task": "foo"}
    assert [box.value for box in test.selectbox] == ["foo", None, None, None, "keep"]
    # A value that the script sets replaces the browser's, also where the user has chosen meanwhile.
    assert not any(box.proto.set_value for box in test.selectbox)


def ask_about_a_wide_table() -> None:
    import streamlit as st

    from dashboard.components.importer import ask_wide

    ask_wide("wide.csv", st.session_state.setdefault("mapping", {}), ("task", "ann", "ben", "notes"))


def test_the_workers_of_a_wide_table_are_chosen_and_what_minus_one_means() -> None:
    test = AppTest.from_function(ask_about_a_wide_table).run()
    test.multiselect[0].select("ann").select("notes").run()
    test.selectbox[0].select_index(1).run()
    mapping = test.session_state["mapping"]
    assert mapping == {"workers": ("ann", "notes"), "missing": ()}
    path = uploads.receive("wide.csv", io.BytesIO(b"task,ann,ben,notes\nt1,-1,1,-1\nt2,0,1,1\nt3,1,1,0\n"))
    found = uploads.examine(path, tuple(sorted(mapping.items())))
    assert not isinstance(found, tuple)
    assert list(found.dataset(accept=True).worker_ids) == ["ann", "notes"]
    assert (found.report.classes, found.report.n_annotations) == (("-1", "0", "1"), 6)
    test.multiselect[0].unselect("ann").unselect("notes").run()
    assert test.session_state["mapping"] == {"missing": ()}


def test_many_numbers_are_asked_about_and_read_as_the_user_says(monkeypatch: pytest.MonkeyPatch) -> None:
    file = io.BytesIO(b"task,worker,rating\n" + b"".join(b"t%d,w%d,%d\n" % (i, i % 3, 3 * i) for i in range(30)))
    file.name, file.file_id = "scores.csv", "1"
    monkeypatch.setattr("streamlit.file_uploader", lambda *_, **__: file)
    test = AppTest.from_function(open_a_file, default_timeout=60).run()
    assert "different numbers from 0 to 87" in test.warning[0].value
    assert test.radio[0].value is None
    test.radio[0].set_value("classes").run()
    assert "30" in {metric.value for metric in test.metric}
    test.radio[0].set_value("ratings").run()
    assert [box.label for box in test.number_input] == [
        "Lowest rating that can be given",
        "Highest rating that can be given",
    ]

"""The address bar, the session and the widgets agree, whoever changed last."""

from __future__ import annotations

import pytest
from streamlit.runtime.state.query_params import QueryParams
from streamlit.testing.v1 import AppTest


def script() -> None:
    import streamlit as st

    from dashboard import state

    state.enter(st.session_state.get("go", "mistakes"))
    state.settle(dataset=state.chosen("dataset") or "demo", reference="gold")
    st.selectbox("Dataset", ["demo", "labelme"], **state.bind("dataset", state.get("dataset")))
    if st.session_state["page"] == "mistakes":
        classes = ["cat", "dog", "eel"]
        true = state.index_of("true", classes) or 0
        st.selectbox("True", classes, **state.bind("true", classes[true]))
        st.toggle("Marks", **state.bind("marks", state.get("marks") != "no", words=("", "no")))
    st.text(" ".join(f"{key}={value}" for key, value in state.address(st.session_state["page"], true="dog").items()))
    state.publish()


def run(**address: str) -> AppTest:
    test = AppTest.from_function(script)
    for key, value in address.items():
        test.query_params[key] = value
    return test.run()


def address(test: AppTest) -> dict[str, str]:
    return {key: value[-1] if isinstance(value, list) else value for key, value in test.query_params.items()}


def test_the_address_opens_the_view() -> None:
    test = run(dataset="labelme", true="dog", marks="no")
    assert test.selectbox[0].value == "labelme"
    assert test.selectbox[1].value == "dog"
    assert test.toggle[0].value is False


def test_what_is_settled_is_in_the_address_though_nobody_chose_it() -> None:
    test = run()
    assert address(test) == {"dataset": "demo", "reference": "gold"}
    assert test.text[0].value == "dataset=demo reference=gold true=dog"


def test_a_widget_changes_the_address() -> None:
    test = run(dataset="labelme")
    test.selectbox[1].select("eel").run()
    assert address(test)["true"] == "eel"
    test.toggle[0].set_value(False).run()
    assert address(test) == {"dataset": "labelme", "reference": "gold", "true": "eel", "marks": "no"}
    test.toggle[0].set_value(True).run()
    assert "marks" not in address(test)


def test_going_back_changes_the_widget() -> None:
    test = run(dataset="labelme", true="dog")
    test.selectbox[1].select("eel").run()
    test.query_params["true"] = "dog"
    test.run()
    assert test.selectbox[1].value == "dog"
    del test.query_params["true"]
    test.run()
    assert test.selectbox[1].value == "cat"


def test_a_widget_wins_over_an_address_that_lags_behind() -> None:
    test = run(dataset="labelme", true="dog")
    test.selectbox[1].select("eel")
    test.query_params["true"] = "cat"
    test.run()
    assert test.selectbox[1].value == "eel"
    assert address(test)["true"] == "eel"


def test_an_address_of_another_page_wins_over_a_widget_of_the_page_that_is_left() -> None:
    test = run(dataset="labelme")
    test.selectbox[1].select("eel")
    test.session_state["go"] = "tasks"
    test.query_params["dataset"] = "demo"
    test.run()
    assert address(test)["dataset"] == "demo"


def test_another_dataset_forgets_what_was_chosen_on_the_pages() -> None:
    test = run(dataset="labelme", true="dog")
    test.selectbox[0].select("demo").run()
    assert test.selectbox[1].value == "cat"
    assert "true" not in address(test)


def test_a_page_remembers_its_view_when_opened_from_the_menu() -> None:
    test = run(dataset="labelme", true="dog")
    test.session_state["go"] = "tasks"
    test.query_params.clear()
    test.run()
    assert address(test) == {"dataset": "labelme", "reference": "gold"}
    test.session_state["go"] = "mistakes"
    test.query_params.clear()
    test.run()
    assert test.selectbox[1].value == "dog"


def test_a_followed_link_writes_its_address_though_nothing_differs(monkeypatch: pytest.MonkeyPatch) -> None:
    """A message of the run before may overtake the link in the browser's address bar."""
    sent: list[str] = []
    plain = QueryParams._send_query_param_msg
    monkeypatch.setattr(QueryParams, "_send_query_param_msg", lambda self: (sent.append(str(self)), plain(self))[1])
    test = run(dataset="labelme", true="dog", reference="gold")
    assert len(sent) == 1
    test.run()
    assert len(sent) == 1
    test.query_params["true"] = "eel"
    test.run()
    assert len(sent) == 2
    test.session_state["go"] = "tasks"
    test.run()
    assert len(sent) == 3


def test_parameters_of_others_are_left_alone() -> None:
    test = run(dataset="labelme", embed_options="dark", foo="bar")
    assert address(test)["foo"] == "bar"

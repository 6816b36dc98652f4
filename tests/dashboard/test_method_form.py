"""The form of any pydantic settings: fields by type, with bounds, descriptions and defaults."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

import crowdcore as cc


def script() -> None:
    from typing import Literal

    import streamlit as st
    from pydantic import Field

    from crowdcore.core.settings import Settings
    from dashboard.components.method_form import method_form

    class Some(Settings):
        n_groups: int = Field(2, ge=1, le=20, description="Groups of *workers*.")
        above: int = Field(3, gt=2, title="More than two")
        rate: float = Field(1e-6, gt=0, le=1)
        clusters: int | None = Field(None, ge=1)
        hard: bool = False
        ties: Literal["lowest", "random"] = "lowest"
        label: str = "plain"
        many: list[int] = Field(default_factory=list)

    chosen = method_form(Some, st.session_state.get("values", {}), "set")
    st.session_state["chosen"] = chosen


DEFAULTS = {
    "n_groups": 2,
    "above": 3,
    "rate": 1e-6,
    "clusters": None,
    "hard": False,
    "ties": "lowest",
    "label": "plain",
}


def test_untouched_it_holds_the_defaults() -> None:
    test = AppTest.from_function(script).run()
    assert not test.exception
    assert test.session_state["chosen"] == DEFAULTS


def test_it_shows_the_values_it_is_given() -> None:
    test = AppTest.from_function(script)
    test.session_state["values"] = {"n_groups": 5, "ties": "random", "clusters": 4, "hard": True}
    test.run()
    assert test.session_state["chosen"] == DEFAULTS | {"n_groups": 5, "ties": "random", "clusters": 4, "hard": True}


def test_words_and_descriptions_come_from_the_model() -> None:
    test = AppTest.from_function(script).run()
    groups, above, rate, clusters = test.number_input
    assert (groups.label, groups.step) == ("N groups", 1)
    assert groups.help == r"Groups of \*workers\*\."
    assert above.label == "More than two"
    assert rate.step == pytest.approx(1e-7)
    assert clusters.value is None


@pytest.mark.parametrize(
    ("number", "value", "sentence"),
    [
        (0, 0, "`N groups` must be at least 1, but got 0."),
        (0, 21, "`N groups` must be at most 20, but got 21."),
        (1, 2, "`More than two` must be more than 2, but got 2."),
        (2, 0.0, "`Rate` must be more than 0, but got 0.0."),
        (3, -1, "`Clusters` must be at least 1, but got -1."),
    ],
)
def test_a_value_out_of_bounds_is_the_field_s_value_and_refused_below_it(
    number: int, value: float, sentence: str
) -> None:
    test = AppTest.from_function(script).run()
    test.number_input[number].set_value(value).run()
    assert list(test.session_state["chosen"].values())[number] == value
    assert [part.value.replace("\\", "") for part in test.caption] == [f":red[{sentence}]"]


def test_changes_are_returned() -> None:
    test = AppTest.from_function(script).run()
    test.number_input[0].set_value(7)
    test.toggle[0].set_value(True)
    test.selectbox[0].select("random").run()
    assert test.session_state["chosen"] == DEFAULTS | {"n_groups": 7, "hard": True, "ties": "random"}


def test_every_aggregator_s_form_gives_its_defaults() -> None:
    def draw() -> None:
        import streamlit as st

        import crowdcore as cc
        from dashboard.components.method_form import method_form

        aggregators = cc.aggregation.aggregators
        st.session_state["chosen"] = {name: method_form(aggregators[name], {}, name) for name in cc.aggregation.names()}

    test = AppTest.from_function(draw).run()
    assert not test.exception
    for name, chosen in test.session_state["chosen"].items():
        aggregators = cc.aggregation.aggregators[name]
        assert aggregators(**chosen) == aggregators()
        assert set(chosen) == set(aggregators.model_fields)


def test_a_method_without_settings_says_so() -> None:
    test = AppTest.from_string(
        "from crowdcore.core.settings import Settings\n"
        "from dashboard.components.method_form import method_form\n"
        "method_form(Settings, {}, 'set')"
    ).run()
    assert "no settings" in test.caption[0].value


def test_open_fields_are_empty_until_something_is_chosen() -> None:
    def draw() -> None:
        import streamlit as st

        from crowdcore.core.settings import Settings
        from dashboard.components.method_form import method_form

        class Some(Settings):
            rate: float = 0.1
            hard: bool = False
            kind: str = "plain"
            fixed: int = 3

        words = {"rate": "theirs 0.2", "hard": "theirs"}
        st.session_state["chosen"] = method_form(Some, {"hard": False}, "set", open=words, without=("kind",))

    test = AppTest.from_function(draw).run()
    assert test.session_state["chosen"] == {"rate": None, "hard": False, "fixed": 3}
    assert test.number_input[0].placeholder == "theirs 0.2"
    test.number_input[0].set_value(0.1)
    assert test.run().session_state["chosen"]["rate"] == 0.1

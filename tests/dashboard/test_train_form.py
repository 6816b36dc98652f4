"""The form of the page Train in-process: it starts the settings shown, and nothing impossible."""

from __future__ import annotations

from dataclasses import replace

import pytest

from crowdcore import runs
from crowdcore.core.spelling import spell
from crowdcore.learning import learners
from tests.dashboard.app_page import button, words
from tests.dashboard.train_page import page

pytestmark = pytest.mark.usefixtures("trainable_crowd")


def test_what_is_changed_in_the_forms_is_asked_for_and_nothing_else() -> None:
    test = page(methods="conal")
    test.number_input(key="train-1-epochs").set_value(7)
    test.text_input(key="train-1-seeds").set_value("2")
    test.number_input(key="train-1-training-lr-open").set_value(0.01)
    test.number_input(key="train-1-network-mlp-hidden").set_value(16)
    test.selectbox(key="train-1-device").set_value("cpu").run()
    assert "Changed: Learning rate 0.01" in words(test)
    button(test, "Start 1 run").click().run()
    (run,) = runs.list_runs("crowd")
    assert run.spec.settings == {"epochs": 7, "lr": 0.01, "backbone_settings": {"hidden": 16}}
    assert run.spec.seeds == (0, 1)
    assert run.spec.device == "cpu"


def test_what_a_method_does_its_own_way_is_left_to_it_unless_it_is_set() -> None:
    test = page(methods=["conal", "trace"])
    rate = test.number_input(key="train-1-training-lr-open")
    assert rate.value is None
    assert rate.placeholder == f"conal {learners.variant_settings('conal', {})['lr']}; else 0.001"
    assert test.number_input(key="train-1-epochs").placeholder == "100"
    rate.set_value(0.001).run()
    assert "Changed: Learning rate 0.001" in words(test)
    button(test, "Start 2 runs").click().run()
    settings = {run.spec.method: run.spec.settings for run in runs.list_runs("crowd")}
    assert settings == {"conal": {"lr": 0.001}, "trace": {}}


def test_a_method_s_own_form_is_what_its_run_uses() -> None:
    test = page(methods="conal")
    test.number_input(key="own-conal-embedding-open").set_value(40).run()
    assert test.query_params["methods"] == "conal embedding=40"
    next(b for b in test.button if b.key == "conal-beside").click().run()
    assert test.query_params["methods"] == ["conal embedding=40", "conal"]
    test.number_input(key="own-conal-embedding-open").set_value(60).run()
    button(test, "Start 2 runs").click().run()
    assert [run.spec.settings for run in runs.list_runs("crowd")[::-1]] == [{"embedding": 60}, {}]


def test_a_method_may_be_trained_another_way_than_the_rest() -> None:
    test = page(methods=["conal", "trace"])
    test.multiselect(key="trace-alone").set_value(["lr", "batch_size"]).run()
    test.number_input(key="alone-trace-lr").set_value(0.03).run()
    assert test.number_input(key="train-1-training-lr-open").placeholder.endswith("trace 0.03")
    button(test, "Start 2 runs").click().run()
    settings = {run.spec.method: run.spec.settings for run in runs.list_runs("crowd")}
    assert settings == {"conal": {}, "trace": {"lr": 0.03, "batch_size": 64}}


def test_what_comes_along_with_a_choice_is_shown_and_an_explicit_value_wins(monkeypatch: pytest.MonkeyPatch) -> None:
    about = learners.about_method("conal")
    variants = {"mixture": {"lr": 0.005}, "authors": {"lr": 0.01, "embedding": 33, "initial_scale": 5.0}}
    about = replace(about, variants=variants)
    monkeypatch.setattr(learners, "about_method", lambda name, kind="classes": about)
    test = page(methods="conal")
    shown = test.number_input(key="own-conal-embedding-open")
    assert (shown.value, shown.placeholder) == (None, "20")
    test.number_input(key="own-conal-initial_scale-open").set_value(2.0)  # also the default: said, so it stays
    test.selectbox(key="own-conal-variant-open").select("authors").run()
    assert test.number_input(key="own-conal-embedding-open").placeholder == "33"
    assert test.number_input(key="own-conal-initial_scale-open").value == 2.0
    assert test.number_input(key="train-1-training-lr-open").placeholder == "conal 0.01"
    button(test, "Start 1 run").click().run()
    (run,) = runs.list_runs("crowd")
    assert run.spec.settings == {"variant": "authors", "initial_scale": 2.0}


def test_methods_in_front_are_ticked_and_told_apart_from_others() -> None:
    test = page(methods=["conal embedding=40", "dl-em"])
    assert {box.label for box in test.checkbox if box.value} == {"CoNAL"}
    test.checkbox(key="train-front-trace").check().run()
    assert test.query_params["methods"] == ["conal embedding=40", "dl-em", "trace"]
    test.checkbox(key="train-front-conal").uncheck().run()
    assert test.query_params["methods"] == ["dl-em", "trace"]
    assert {box.label for box in test.checkbox if box.value} == {"Trace"}


@pytest.mark.parametrize(
    ("key", "value", "sentence"),
    [
        ("train-1-epochs", 0, "`Epochs` must be at least 1, but got 0."),
        ("train-1-training-lr-open", -1.0, "`Learning rate` must be more than 0, but got -1.0."),
        ("train-1-training-weight_decay-open", -1.0, "must be at least 0, but got -1.0."),
        ("train-1-network-mlp-dropout", 1.0, "`Dropout (share)` must be less than 1, but got 1.0."),
        ("own-conal-embedding-open", 0, "must be at least 1, but got 0."),
        ("train-1-seeds", "some", "`Seeds` must be how many"),
        ("train-1-seeds", "0", "`Seeds` must be between 1 and 1,000, but got '0'."),
        ("train-1-seeds", "", "`Seeds` must be how many"),
        ("train-1-seeds", "3, 3", "`Seeds` must be different from each other"),
    ],
)
def test_what_is_shown_and_cannot_be_is_not_started(key: str, value: float | str, sentence: str) -> None:
    test = page(methods="conal")
    (test.text_input if isinstance(value, str) else test.number_input)(key=key).set_value(value)
    test.run()
    assert not test.exception
    assert sentence in "\n".join(str(e.value).replace("\\", "") for e in test.error)
    assert button(test, "Start 1 run").disabled
    assert runs.list_runs("crowd") == []


def test_a_reload_keeps_every_value() -> None:
    test = page(methods="conal")
    test.number_input(key="train-1-epochs").set_value(7)
    test.text_input(key="train-1-seeds").set_value("3, 7")
    test.number_input(key="train-1-training-lr-open").set_value(0.001)
    test.selectbox(key="train-1-training-deterministic-open").set_value(True)
    test.number_input(key="train-1-network-mlp-hidden").set_value(16)
    test.selectbox(key="train-1-device").set_value("cpu")
    test.number_input(key="own-conal-embedding-open").set_value(40).run()
    again = page(**dict(test.query_params))
    for now in (test, again):
        button(now, "Start 1 run").click()
        now.run()
    second, first = runs.list_runs("crowd")
    for name in ("method", "settings", "seeds", "device"):
        assert getattr(second.spec, name) == getattr(first.spec, name)
    assert first.spec.seeds == (3, 7)
    own = {"lr": 0.001, "deterministic": True, "embedding": 40}
    assert first.spec.settings == {"epochs": 7, "backbone_settings": {"hidden": 16}, **own}


def test_the_methods_chosen_stay_after_a_reload_and_a_visit_to_another_dataset() -> None:
    test = page(methods="conal")
    test.multiselect(key="train-methods").set_value(["trace", "dl-em"])
    test.number_input(key="train-1-epochs").set_value(9).run()
    assert test.query_params["methods"] == ["trace", "dl-em"]
    test.query_params.clear()
    test.query_params["dataset"] = "bare"
    test.run()
    test.query_params.clear()
    test.query_params["dataset"] = "crowd"
    test.run()
    assert test.multiselect(key="train-methods").value == ["trace", "dl-em"]
    assert next(n for n in test.number_input if n.label == "Epochs").value == 9


def test_an_address_cannot_name_what_a_method_does_not_have() -> None:
    test = page(methods="conal backbone=os:system")
    assert "`a setting of conal`" in words(test)
    assert button(test, "Start 1 run").disabled
    shared = page(methods="conal", settings="backbone=os:system")
    assert "`network`" in words(shared)
    assert shared.selectbox(key="train-1-backbone").value == "mlp"
    assert runs.list_runs("crowd") == []


def test_a_setting_that_is_a_text_is_left_alone_unless_one_is_entered() -> None:
    test = page(methods="dl-aggregate")
    shown = test.text_input(key="own-dl-aggregate-aggregator-open")
    assert (shown.value, shown.placeholder) == (None, "majority-vote")
    assert test.query_params["methods"] == "dl-aggregate"
    shown.set_value("glad").run()
    assert test.query_params["methods"] == "dl-aggregate aggregator=glad"


def test_settings_that_have_no_field_are_kept() -> None:
    line = spell("dl-aggregate", {"aggregator": "glad", "aggregator_settings": {"max_iterations": 7}})
    test = page(methods=line)
    test.number_input(key="train-1-epochs").set_value(2)
    button(test, "Start 1 run").click().run()
    (run,) = runs.list_runs("crowd")
    kept = {"aggregator": "glad", "aggregator_settings": {"max_iterations": 7}}
    assert run.spec.settings == {"epochs": 2, **kept}

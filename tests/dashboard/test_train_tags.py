"""The page Train of a crowd that tags tokens."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from crowdcore import runs
from crowdcore.data import simulate, write_folder
from crowdcore.learning import learners
from crowdcore.learning.learners import untrainable
from dashboard.services import opening, train
from tests.dashboard.app_page import button, field, open_page, words

pytestmark = pytest.mark.usefixtures("tagged")


@pytest.fixture
def tagged(trainable_crowd: None) -> None:
    """Sentences beside the crowd of `trainable_crowd`."""
    made = simulate.tags(n_sentences=40, n_valid=8, n_test=12, n_workers=4, seed=1)
    write_folder(made, Path(os.environ["CROWDCORE_DATA"]) / "tagged")


def test_words_can_be_trained_on_and_their_network_is_listed_for_them_alone() -> None:
    assert untrainable(opening.labelled("tagged")) == ""
    assert list(learners.backbones(opening.labelled("tagged"))) == ["tagger"]
    assert "tagger" not in learners.backbones(opening.labelled("crowd"))


def test_the_page_starts_a_tagger_and_starts_it_again() -> None:
    test = open_page("train", dataset="tagged")
    assert not test.error
    assert test.multiselect(key="train-methods").value == ["crowd-layer"]
    assert field(test, "Network").options == ["Convolution and GRU over sentences"]
    button(test, "Start 1 run").click().run()
    [run] = runs.list_runs("tagged")
    assert run.spec.method == "crowd-layer" and run.spec.settings.get("backbone", "tagger") == "tagger"
    plain = run.spec.model_copy(update={"settings": {}})
    again = train.draft_of("tagged", plain)
    assert [spec.settings.get("backbone") for spec in train.specs("tagged", again)] == [None]
    line = train.spell_draft("tagged", again)
    assert train.read_draft("tagged", line)["training"]["backbone"] == "tagger"
    assert "Nothing to train" not in words(test)


def test_a_search_of_taggers_goes_by_the_f1_of_spans() -> None:
    test = open_page("train", dataset="tagged", view="Search settings", methods=["crowd-layer"])
    assert "validation F1 of spans" in words(test)
    draft = {**train.read_draft("tagged", ""), "seeds": "1", "methods": ["crowd-layer"]}
    started = train.start_search("tagged", draft, {"lr": runs.Choice(values=(0.1, 0.2))}, 2, "grid")
    search = runs.get_run(started)
    assert search.spec.search is not None and search.spec.search.score == "valid_span_f1"
    assert list(train.search_trials(search)) == ["trial", "run", "state", "validation_span_f1", "best", "lr"]

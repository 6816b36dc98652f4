"""Taggers: sentences stay whole, padding never counts, and trained ones find spans."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given, settings as hypothesis_settings, strategies as st

from crowdcore.core.errors import DataError, SettingError
from crowdcore.data.dataset import CrowdDataset
from crowdcore.data.rows import Rows
from crowdcore.data.simulate import tags
from crowdcore.learning import backbones, methods, tagged_spans, train
from crowdcore.learning.api import split_settings
from crowdcore.learning.results import classifiers
from crowdcore.learning.training.data import Data, SentenceFeed
from crowdcore.learning.training.inputs import input_rows
from crowdcore.learning.training.loop import Replica, make_replicas
from crowdcore.learning.training.problem import make_problem


def worded_crowd() -> CrowdDataset:
    """A simulated crowd whose words tell the tags."""
    crowd = tags(n_sentences=160, n_test=50, length=8, worst=0.7, best=0.95, per_sentence=4, seed=1)
    rng = np.random.default_rng(0)
    stems = np.array(["of", "Rome", "City", "Anna", "Smith"])
    words = np.char.add(stems[crowd.gold], rng.choice(list("abcd"), len(crowd.gold)))
    assert crowd.sentences is not None
    return replace(crowd, sentences=replace(crowd.sentences, words=pd.Index(words)))


CROWD = worded_crowd()
SMALL = {"embedding": 16, "filters": 24, "hidden": 16}
FAST: dict[str, Any] = {"epochs": 6, "batch_size": 5, "lr": 2e-2, "backbone_settings": SMALL}


OF_TOKENS: list[tuple[str, dict[str, Any]]] = [
    ("dl-mv", {}),
    ("dl-em", {}),
    ("dl-true", {}),
    ("crowd-layer", {"connection": "vw"}),
    ("crowd-layer", {"connection": "vw+b"}),
    ("crowd-layer", {"connection": "mw", "start": "votes", "vote_epochs": 0.25}),
    ("doctor-net", {}),
    ("wdn", {"epochs": 13}),
    ("conal", {}),
    ("conal", {"omega_input": "task"}),
    ("conal-groups", {}),
]
TAUGHT: dict[tuple[str, str], tuple[Any, Data]] = {}


def problem_of(**settings: Any) -> Any:
    training, _ = split_settings(methods.get("dl-mv"), {"backbone": "tagger", **settings})
    return make_problem(CROWD, training)


def test_a_sentence_alone_is_tagged_as_among_others():
    torch.manual_seed(0)
    network = backbones.build("tagger", (5,), 4, {}).eval()
    x = torch.from_numpy(input_rows(CROWD, False)[:].astype(np.float32))
    start = CROWD.sentences.start
    with torch.no_grad():
        together = network(x[: start[6]])
        alone = torch.cat([network(x[a:b]) for a, b in pairwise(start[:7])])
    torch.testing.assert_close(together, alone, rtol=1e-4, atol=1e-5)


def test_a_word_that_training_never_showed_says_little():
    torch.manual_seed(0)
    network = backbones.build("tagger", (5,), 4, {})
    assert all(0.05 < e.weight.std() < 0.2 for e in network.embeddings)


def taught(name: str, settings: dict[str, Any]) -> tuple[Any, Data]:
    """A method away from its symmetric start, in float64 and without dropout, and its data."""
    method = methods.get(name)
    training, own = split_settings(method, {"backbone": "tagger", "backbone_settings": SMALL, **settings})
    problem = make_problem(CROWD, training)
    (module,) = make_replicas(problem, method, [Replica(own, 0)], training)
    module = module.double().eval()
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for p in module.parameters():
            p.add_(0.3 * torch.randn(p.shape, generator=generator, dtype=p.dtype))
    return module, Data(problem, torch.device("cpu"), targets=method.targets(problem, own))


@pytest.mark.parametrize(("name", "settings"), OF_TOKENS)
@hypothesis_settings(max_examples=4, deadline=None)
@given(first=st.integers(0, 90), n=st.integers(2, 10))
def test_padding_never_counts(name, settings, first, n):
    """A batch of sentences has the mean loss and gradient of the sentences alone, by their number of annotations."""
    if (name, str(settings)) not in TAUGHT:
        TAUGHT[name, str(settings)] = taught(name, settings)
    module, data = TAUGHT[name, str(settings)]
    start = data.problem.sentence_start

    def of(a: int, b: int) -> tuple[int, torch.Tensor, list[torch.Tensor]]:
        batch = data.stretch(slice(int(start[a]), int(start[b])))
        batch = batch._replace(weight=batch.weight.double())
        loss = torch.stack(list(module.loss(batch).values())).sum()
        return len(batch.label), loss.detach(), torch.autograd.grad(loss, list(module.parameters()), allow_unused=True)

    _, together, slopes = of(first, first + n)
    counts, losses, gradients = zip(*(of(k, k + 1) for k in range(first, first + n)), strict=True)
    weights = [c / sum(counts) for c in counts]
    assert together.item() == pytest.approx(sum(w * loss.item() for w, loss in zip(weights, losses, strict=True)))
    for k, slope in enumerate(slopes):
        if slope is not None:
            alone = sum(w * g[k] for w, g in zip(weights, gradients, strict=True))
            torch.testing.assert_close(slope, alone, rtol=1e-7, atol=1e-10)


def test_batches_and_chunks_are_whole_sentences_and_every_token_comes_once():
    problem = problem_of()
    data = Data(problem, torch.device("cpu"))
    sentence = CROWD.sentences.of_task[problem.order]
    feed = SentenceFeed(data, 0, 16)
    batches = list(feed.epoch(0))
    assert len(batches) == feed.n_batches
    np.testing.assert_array_equal(np.sort(np.concatenate([b.task[0] for b in batches])), np.arange(problem.n_train))
    for index in batches:
        task, batch = index.task[0].numpy(), data.batch(index)
        some = np.unique(sentence[task])
        assert len(some) <= 16 and len(task) == np.isin(sentence[: problem.n_train], some).sum()
        np.testing.assert_array_equal(problem.task[index.entry[0]], task[index.row[0]])
        assert batch.weight.all()
    assert any(not torch.equal(a.task, b.task) for a, b in zip(batches, feed.epoch(1), strict=False))
    whole = slice(0, len(problem.order))
    for size in (1, 50):
        pieces = list(data.chunks(whole, size))
        assert [p.start for p in pieces] == [0, *(p.stop for p in pieces[:-1])] and pieces[-1].stop == whole.stop
        assert all(sentence[p.stop - 1] != sentence[p.stop] for p in pieces[:-1])


def test_sentences_are_held_out_whole():
    problem = problem_of(select_on="holdout", holdout=0.25)
    sentence = CROWD.sentences.of_task[problem.order]
    train_, valid = (set(sentence[problem.splits[s]]) for s in ("train", "valid"))
    assert valid and not train_ & valid


def test_losses_are_those_of_the_labels_of_tokens():
    training, own = split_settings(methods.get("crowd-layer"), {"backbone": "tagger", "connection": "vw+b"})
    problem = make_problem(CROWD, training)
    (layer,) = make_replicas(problem, methods.get("crowd-layer"), [Replica(own, 0)], training)
    batch = Data(problem, torch.device("cpu")).stretch(slice(0, int(problem.sentence_start[9])))
    layer.eval()
    p = layer.log_probs(batch.features).exp().detach().double().numpy()[batch.row]
    a = layer.weight.detach().numpy()[batch.worker] * p + layer.bias.detach().numpy()[batch.worker]
    log_o = a - np.log(np.exp(a).sum(1, keepdims=True))
    expected = -log_o[np.arange(len(a)), batch.label].mean()
    assert layer.loss(batch)["cross_entropy"].item() == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize(("name", "settings"), [of for of in OF_TOKENS if of[1] != {"connection": "vw"}])
def test_it_learns(name, settings, monkeypatch):
    result = train(CROWD, name, seeds=1, **{**FAST, **settings})
    scores = tagged_spans(CROWD, result)
    assert scores["f1"][0] > 0.5
    assert scores["token_accuracy"][0] == pytest.approx(result.accuracy("test")[0])
    assert result.training["backbone"] == "tagger"
    if name == "dl-mv":
        monkeypatch.setattr(classifiers, "_CHUNK", 50)
        rows = input_rows(CROWD, False)[result.task]
        np.testing.assert_allclose(result.predict_proba(rows), result.probabilities["selected"], atol=1e-5)
    if name == "dl-em":
        right = np.diagonal(result.worker_confusion[0], axis1=1, axis2=2).mean(1)
        planted = np.diagonal(CROWD.truth.worker_confusion, axis1=1, axis2=2).mean(1)
        assert np.corrcoef(right, planted)[0, 1] > 0.8


def test_refusals():
    with pytest.raises(SettingError, match="reads sentences"):
        train(CROWD, "dl-mv", backbone="mlp", seeds=1)
    with pytest.raises(DataError, match="are words"):
        train(CROWD, "conal", variant="authors", seeds=1, epochs=1)
    with pytest.raises(SettingError, match="no words"):
        train(replace(CROWD, features=Rows.from_array(np.zeros((CROWD.n_tasks, 3), np.float32))), backbone="tagger")
    result = train(CROWD, "dl-mv", seeds=1, epochs=1)
    with pytest.raises(DataError, match="other data"):
        tagged_spans(replace(CROWD, name="b", gold=np.roll(CROWD.gold, 1)), result)


def test_the_epoch_is_selected_by_the_f1_of_the_spans_not_by_the_share_of_the_tokens():
    result = train(CROWD, "dl-mv", seeds=2, holdout=0.2, **FAST | {"epochs": 8, "batch_size": 10, "lr": 3e-3})
    curves = result.curves
    score = curves["valid_span_f1"] - 1e-6 * curves["valid_nll"]
    assert result.selected_epoch.tolist() == (score.argmax(0) + 1).tolist()
    assert (curves["valid_span_f1"].max(0) > 0).all()

"""Every setting that a form can show has words of its own, whatever registry its model is in."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pydantic import BaseModel

import crowdcore as cc
from crowdcore.data import simulate
from crowdcore.learning import TrainSettings, backbones, methods


def models() -> Iterator[tuple[str, type[BaseModel]]]:
    yield "training", TrainSettings
    yield from ((f"backbone {name}", backbones.REGISTRY.find(name).Settings) for name in backbones.names())
    yield from ((f"aggregator {name}", cc.aggregation.aggregators[name]) for name in cc.aggregation.names())
    yield from ((f"simulator {name}", simulate.REGISTRY.find(name)) for name in simulate.names())
    yield from ((f"method {name}", methods.get(name).Settings) for name in methods.names())


MODELS = dict(models())


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_every_setting_has_a_title_of_its_own(model: type[BaseModel]) -> None:
    titles = {name: field.title for name, field in model.model_fields.items()}
    assert [name for name, title in titles.items() if not title] == []
    assert len(set(titles.values())) == len(titles)
    for title in titles.values():
        assert title is not None
        assert len(title) <= 50
        assert "_" not in title

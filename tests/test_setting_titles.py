"""Every setting that a form can show has words of its own, whatever registry its model is in."""

from __future__ import annotations

from collections.abc import Iterator

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


def test_every_setting_has_a_title_of_its_own() -> None:
    for owner, model in models():
        titles = {name: field.title or "" for name, field in model.model_fields.items()}
        assert [name for name, title in titles.items() if not title] == [], owner
        assert len(set(titles.values())) == len(titles), owner
        assert [title for title in titles.values() if len(title) > 50 or "_" in title] == [], owner

"""Registries take plug-ins of other packages; settings are frozen, bounded, and refuse in our phrasing."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from pydantic import Field, ValidationError

import crowdcore as cc
from crowdcore.aggregation import aggregators
from crowdcore.core.errors import PluginError, SettingError
from crowdcore.core.registry import Registry
from crowdcore.core.settings import Settings
from crowdcore.data import simulate, sources
from crowdcore.data.readers import readers
from crowdcore.learning import backbones, learners, methods

REGISTRIES: dict[str, Registry] = {
    "crowdcore.aggregators": aggregators,
    "crowdcore.methods": methods.REGISTRY,
    "crowdcore.backbones": backbones.REGISTRY,
    "crowdcore.readers": readers,
    "crowdcore.simulations": simulate.REGISTRY,
    "crowdcore.sources": sources.REGISTRY,
}
Install = Callable[..., None]


def forget() -> None:
    for registry in REGISTRIES.values():
        registry.__dict__.pop("plugins", None)
    learners._methods.cache_clear()
    learners._backbones.cache_clear()


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Put a distribution on the path: a module of its own name, and entry points ``group -> name = value``."""

    def add(package: str, source: str, **points: str) -> None:
        site = tmp_path / package
        info = site / f"{package}-1.2.dist-info"
        info.mkdir(parents=True)
        (site / f"{package}.py").write_text(source)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.2\n")
        lines = [f"[crowdcore.{group}]\n{entry}\n" for group, entry in points.items()]
        (info / "entry_points.txt").write_text("\n".join(lines))
        monkeypatch.syspath_prepend(str(site))
        forget()

    yield add
    for name in [n for n in sys.modules if n.startswith("acme")]:
        del sys.modules[name]
    monkeypatch.undo()
    forget()


GOOD = """
from crowdcore.aggregation.majority_vote import MajorityVote
class Acme(MajorityVote):
    name = "acme-vote"
    title = "Acme vote"
"""


def test_every_registry_has_a_group_of_its_own() -> None:
    assert {registry.group: registry for registry in REGISTRIES.values()} == REGISTRIES


def test_a_plugin_is_listed_at_once_and_loaded_on_use(install: Install, crowd: cc.CrowdDataset) -> None:
    install("acme", GOOD, aggregators="acme-vote = acme:Acme")
    assert "acme-vote" in cc.aggregation.names()
    assert "acme-vote" in aggregators
    assert len(aggregators) == len(list(aggregators))
    assert "acme" not in sys.modules
    theirs = cc.aggregation.get("acme-vote").fit(crowd)
    assert (theirs.posterior == cc.aggregation.get("majority-vote").fit(crowd).posterior).all()


def test_a_plugin_is_no_member_of_another_registry(install: Install) -> None:
    install("acme", GOOD, aggregators="acme-vote = acme:Acme")
    assert [group for group, registry in REGISTRIES.items() if "acme-vote" in registry] == ["crowdcore.aggregators"]


def test_a_module_of_the_folder_goes_before_a_plugin_of_its_name(install: Install) -> None:
    install("acme", GOOD, aggregators="majority-vote = acme:Acme")
    assert aggregators["majority-vote"] is cc.aggregation.MajorityVote
    assert cc.aggregation.names().count("majority-vote") == 1


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("import not_there", "ModuleNotFoundError: No module named 'not_there'"),
        ("1 / 0", "ZeroDivisionError: division by zero"),
        ("class Acme: pass", "TypeError: acme:Acme is not a subclass of Aggregator"),
        ("raise OSError('two\\nlines')", "OSError: two lines"),
        ("", "AttributeError: module 'acme' has no attribute 'Acme'"),
    ],
)
def test_a_broken_plugin_is_named_in_one_line(install: Install, source: str, why: str) -> None:
    install("acme", source, aggregators="broken = acme:Acme")
    assert "broken" in cc.aggregation.names()
    with pytest.raises(PluginError) as refused:
        cc.aggregation.get("broken")
    assert str(refused.value) == f"The aggregator 'broken' of the package 'acme 1.2' cannot be used: {why}"


@pytest.mark.parametrize("group", REGISTRIES)
def test_a_broken_plugin_breaks_nothing_else(install: Install, group: str, caplog: pytest.LogCaptureFixture) -> None:
    registry = REGISTRIES[group]
    install("acme", "import not_there", **{group.partition(".")[2]: "broken = acme:Acme"})
    with caplog.at_level(logging.WARNING, logger="crowdcore"):
        assert list(registry.usable()) == list(registry.modules)
    assert [record.getMessage().count("\n") for record in caplog.records] == [0]
    assert "'acme 1.2'" in caplog.text
    with pytest.raises(SettingError, match="broken"):
        registry.find("nope")


def test_a_broken_plugin_is_not_offered_for_a_dataset(install: Install, crowd: cc.CrowdDataset) -> None:
    install("acme", GOOD, aggregators="acme-vote = acme:Acme\nbroken = acme:Nothing")
    offered = cc.aggregation.fitting(crowd)
    assert "acme-vote" in offered
    assert not {"broken", "crf-ma"} & set(offered)


def test_reading_a_file_survives_readers_that_fail(install: Install, tmp_path: Path) -> None:
    class_of_reader = (
        "from crowdcore.data.readers.base import Reader\n"
        "class Acme(Reader):\n"
        "    name, title = 'acme', 'Acme'\n"
        "    def fits(self, source, settings): raise RuntimeError('never tried')\n"
        "    def read(self, source, settings): raise RuntimeError\n"
    )
    install("acme", class_of_reader, readers="acme = acme:Acme\nbroken = acme:Nothing")
    file = tmp_path / "votes.csv"
    file.write_text("task,worker,label\n1,a,x\n1,b,y\n2,a,x\n2,b,y\n")
    assert cc.read_dataset(file).n_annotations == 4


def test_methods_and_networks_are_listed_despite_a_broken_plugin(install: Install) -> None:
    source = (
        "from crowdcore.learning.methods.crowd_layer import CrowdLayer\nclass Acme(CrowdLayer):\n    title = 'Acme'\n"
    )
    install("acme", source, methods="acme = acme:Acme\nbroken = acme:Nothing", backbones="broken = acme:Nothing")
    assert set(learners.learners()) == {*methods.REGISTRY.modules, "acme"}
    assert learners.learners()["acme"] == "Acme"
    assert set(learners._backbones()) == set(backbones.REGISTRY.modules)


class Some(Settings):
    share: float = Field(0.5, ge=0, le=1)
    sizes: tuple[int, ...] = (1, 2)


def test_defaults_and_values() -> None:
    assert Some().share == 0.5
    assert Some(share=1, sizes=[3]).sizes == (3,)
    assert Some() == Some(share=0.5)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"share": 2}, "`share` must be at most 1, but got 2."),
        ({"sizes": "3"}, r"`sizes` must be a list, such as \[\"a\", \"b\"\], but got '3'"),
        ({"sizes": (1, "x")}, r"`sizes\.1` must be a whole number, but got 'x'"),
        ({"shape": 1}, "`setting` must be one of share, sizes, but got 'shape'. Did you mean 'share'?"),
    ],
)
def test_refusals_name_argument_value_and_remedy(given: dict[str, object], sentence: str) -> None:
    with pytest.raises(SettingError, match=sentence):
        Some(**given)


def test_frozen() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        Some().share = 0.1  # type: ignore[misc]

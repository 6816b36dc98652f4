"""Registries, settings and their spelling, errors with remedies."""

from __future__ import annotations

import logging
import pickle
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, strategies as st
from pydantic import Field, ValidationError

import crowdcore as cc
from crowdcore.aggregation import aggregators
from crowdcore.core import spelling
from crowdcore.core.errors import CrowdError, DataError, PluginError, Remedy, SettingError
from crowdcore.core.registry import Registry
from crowdcore.core.settings import Settings
from crowdcore.core.spelling import Part, read_mean, read_options, spell, spell_mean, spell_options
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
    assert all(part in str(refused.value) for part in ("aggregator 'broken'", "'acme 1.2'", why))
    assert "\n" not in str(refused.value)


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


VALUES = st.one_of(st.booleans(), st.none(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.text())


def test_a_mean_of_methods_is_read_back() -> None:
    parts = [Part(0.75, spell("dl-em", {"note": "a + b"}), 0.6), Part(0.25, "conal")]
    assert read_mean(spell_mean(parts)) == parts
    assert read_mean("3 dl-em + 1 conal") == [Part(0.75, "dl-em"), Part(0.25, "conal")]
    assert read_mean(spell_mean(parts[1:])) == [Part(1.0, "conal")]


@pytest.mark.parametrize(
    "text",
    ["dl-em + conal", "0.5 dl-em + conal", "0 dl-em + 1 conal", "-1 dl-em + 2 conal", "nan a + 1 b", "1 a^0 + 1 b"],
)
def test_every_method_of_a_mean_has_a_weight(text: str) -> None:
    with pytest.raises(SettingError, match="weight"):
        read_mean(text)


@given(st.dictionaries(st.from_regex(r"[a-z_]{1,8}", fullmatch=True), VALUES))
def test_a_line_is_read_back(settings: dict[str, object]) -> None:
    line = spelling.spell("conal", settings)
    method, parts = spelling.read(line)
    assert method == "conal"
    assert parts == settings
    assert {k: type(v) for k, v in parts.items()} == {k: type(v) for k, v in settings.items()}


@given(st.dictionaries(st.from_regex(r"[a-z_]{1,8}", fullmatch=True), VALUES))
def test_options_are_read_back(settings: dict[str, object]) -> None:
    assert read_options(spell_options(settings)) == settings


def test_an_option_that_is_none_is_refused() -> None:
    assert read_options([' sizes=[1, "b"]', "rule=dawid-skene smoothing=0.1"]) == {
        "sizes": [1, "b"],
        "rule": "dawid-skene smoothing=0.1",
    }
    for wrong in ("sizes", "=1", "sizes=[1, b]"):
        with pytest.raises(SettingError, match="--set"):
            read_options([wrong], "--set")


@given(st.lists(st.integers(0, 2**40), min_size=1, max_size=12, unique=True))
def test_seeds_are_read_back(seeds: list[int]) -> None:
    assert spelling.read_seeds(spelling.spell_seeds(seeds)) == tuple(seeds)


@pytest.mark.parametrize("text", ["", "0", "-1", "1.5", "a", "1,,2", ",", "2,2", "1001", "99999999999999", "１"])
def test_seeds_that_cannot_be_are_refused(text: str) -> None:
    with pytest.raises(SettingError, match="Seeds"):
        spelling.read_seeds(text)


@pytest.mark.parametrize(
    ("remedy", "sentence"),
    [
        (Remedy("encoding"), "Pass encoding=…."),
        (Remedy("repeats", ("first", "last"), "reduce them"), "Pass repeats='first' or repeats='last' to reduce them."),
        (Remedy("missing", ["-1"], when="it means “missing”"), "If it means “missing”, pass missing=['-1']."),
        (Remedy(("low", "high")), "Pass low=… and high=…."),
        (Remedy.accept(), "Pass accept=True to continue."),
        (Remedy.read_as("ratings"), "Pass kind='ratings'."),
        (Remedy.take_reference("mean"), "Pass reference='mean'."),
    ],
)
def test_a_remedy_in_python(remedy: Remedy, sentence: str) -> None:
    assert str(remedy) == sentence


@pytest.mark.parametrize(
    "error",
    [
        CrowdError("Nothing there.", [Remedy.accept()]),
        SettingError("low", "be below `high`", 3, remedies=[Remedy("low", 1)]),
        DataError("There is no label", file="a.csv", row=3, column="x", code="no-label", remedies=[Remedy("label")]),
    ],
    ids=lambda error: type(error).__name__,
)
def test_errors_keep_their_fields_across_processes(error: CrowdError) -> None:
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is type(error)
    assert (str(copy), vars(copy)) == (str(error), vars(error))


def test_a_door_phrases_the_remedies_of_an_error() -> None:
    error = CrowdError("Two rows differ.", [Remedy("repeats", "first")])
    assert error.phrased(lambda remedy: f"choose {remedy.value}") == "Two rows differ. Choose first."

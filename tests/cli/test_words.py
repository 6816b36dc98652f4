"""Refusals name the options of the command, not the arguments of Python."""

from __future__ import annotations

import pytest

from crowdcore.cli._output import in_command
from crowdcore.core.errors import Remedy

RATED = "task,worker,label\na,ann,1\na,ann,2\nb,ben,3\n"
RANGE = ("--read", "low=1", "--read", "high=3")


@pytest.mark.parametrize(
    ("remedy", "option"),
    [
        (Remedy(("task", "worker")), "pass --read task=… and --read worker=…"),
        (Remedy("missing", ["-1"]), """pass --read 'missing=["-1"]'"""),
        (Remedy("repeats", ("first", "last")), "pass --read repeats=first or --read repeats=last"),
        (Remedy(("task", "worker"), ["q", "1"]), "pass --read task=q and --read worker=1"),
        (Remedy("task", ["doc_id", "sent_id"]), """pass --read 'task=["doc_id", "sent_id"]'"""),
        (Remedy("label", "given label"), "pass --read 'label=given label'"),
        (Remedy("header", False), "pass --read header=false"),
        (Remedy("label", "a\x1b[31m"), """pass --read 'label="a\\u001b[31m"'"""),
        (Remedy("select_on", "none", of="method"), "pass --set select_on=none"),
        (Remedy.accept(), "pass --accept"),
        (Remedy.read_as("ratings"), "use `crowdcore ratings`"),
        (Remedy.take_reference("mean"), "pass --reference mean"),
    ],
)
def test_a_remedy_as_an_option(remedy: Remedy, option: str) -> None:
    assert in_command(remedy) == option


def test_findings_name_options_too(run, tmp_path) -> None:
    (tmp_path / "alone.csv").write_text("task,worker,label\n" + "".join(f"{k},ann,x\n" for k in range(12)))
    assert "pass --read task=…" in run("examine", tmp_path / "alone.csv").out


@pytest.mark.parametrize(
    ("command", "argument", "got"),
    [
        ("aggregate rated.csv -m nope {}", "aggregator", "nope"),
        ("tasks rated.csv --worker anne {}", "worker", "anne"),
        ("export rated.csv x.conll {}", "target", "x.conll"),
        ("info rated.csv --read levels=[a,b]", "--read levels", "[a,b]"),
    ],
)
def test_refused_options_of_ratings(refused, rated, command, argument, got) -> None:
    words = [w for word in command.split() for w in (RANGE if word == "{}" else [word])]
    error = refused("ratings", *words)
    assert (error.argument, error.got) == (argument, got)


@pytest.mark.parametrize(
    ("command", "settings"),
    [
        ("info rated.csv", {"low", "high"}),
        ("info demo", {"kind"}),
        ("export rated.csv wide.csv --wide {}", {"repeats"}),
    ],
)
def test_remedies_of_ratings(refused, rated, command, settings) -> None:
    words = [w for word in command.split() for w in (RANGE if word == "{}" else [word])]
    assert settings <= {name for remedy in refused("ratings", *words).remedies for name in remedy.settings}


@pytest.fixture
def rated(tmp_path, monkeypatch) -> None:
    """A folder with rated.csv, to work in."""
    (tmp_path / "rated.csv").write_text(RATED)
    monkeypatch.chdir(tmp_path)

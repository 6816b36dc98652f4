"""Refusals name the options of the command, not the arguments of Python."""

from __future__ import annotations

import pytest

from crowdcore.cli._words import as_typed, in_command
from crowdcore.core.errors import Remedy

RATED = "task,worker,label\na,ann,1\na,ann,2\nb,ben,3\n"
RANGE = ("--read", "low=1", "--read", "high=3")


@pytest.mark.parametrize(
    ("remedy", "option"),
    [
        (Remedy(("task", "worker")), "pass --read task=… and --read worker=…"),
        (Remedy("missing", ["-1"]), """pass --read 'missing=["-1"]'"""),
        (Remedy("repeats", ("first", "last")), "pass --read repeats=first or last"),
        (Remedy("select_on", "none", of="method"), "pass --set select_on=none"),
        (Remedy.accept(), "pass --accept"),
        (Remedy.read_as("ratings"), "use `crowdcore ratings`"),
        (Remedy.take_reference("mean"), "pass --reference mean"),
    ],
)
def test_a_remedy_as_an_option(remedy: Remedy, option: str) -> None:
    assert in_command(remedy) == option


@pytest.mark.parametrize(
    ("sentence", "typed"),
    [
        ("Say which with task=…, worker=….", "Say which with --read task=…, --read worker=…."),
        ("The labels are numbers: read them with load_ratings or read_ratings.", "read them with `crowdcore ratings`."),
        ("Read them with read_ratings; else pass classes=….", "with `crowdcore ratings`; else pass --read classes=…."),
        ("Read them with load_dataset or read_dataset; if", "Leave out the word `ratings` of the command; if"),
        ('pass missing=[]; else missing=["-1"].', """pass --read missing=[]; else --read 'missing=["-1"]'."""),
        ("Pass select_on='crowd' or 'none'.", "Pass --set select_on='crowd' or 'none'."),
        ("Take an aggregator, such as mean, as the reference.", "Pass an aggregator, such as --reference mean."),
        ("pass accept=True (--accept) to continue", "pass --accept to continue"),
        ("`lr=0.1`, METHOD.NAME=VALUE and 'task=…'", "`lr=0.1`, METHOD.NAME=VALUE and 'task=…'"),
    ],
)
def test_arguments_become_options(sentence, typed) -> None:
    assert as_typed(sentence).endswith(typed)


def test_findings_name_options_too(run, tmp_path) -> None:
    (tmp_path / "alone.csv").write_text("task,worker,label\n" + "".join(f"{k},ann,x\n" for k in range(12)))
    assert "pass --read task=…" in run("examine", tmp_path / "alone.csv").out


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("info rated.csv", "Pass --read low=… and --read high=…."),
        ("info demo", "Leave out the word `ratings` of the command. If they are numbers, pass --read low=…"),
        (
            "aggregate rated.csv -m nope {}",
            "`aggregator` must name one that exists, but got 'nope'. Known: mean, median",
        ),
        (
            "tasks rated.csv --worker anne {}",
            "but got 'anne'. Did you mean 'ann'?",
        ),
        ("task rated.csv -t c {}", "rated has no task 'c'. Tasks are called a, b"),
        ("export rated.csv wide.csv --wide {}", "Pass --read repeats=first"),
        ("export rated.csv x.conll {}", "`target` must be a folder, or end in .csv, .parquet, but got 'x.conll'"),
        ("info rated.csv --read levels=[a,b]", """Quote it for the shell: --read 'levels=["a","b"]'."""),
    ],
)
def test_refusals_of_ratings(refused, tmp_path, monkeypatch, command, said) -> None:
    (tmp_path / "rated.csv").write_text(RATED)
    monkeypatch.chdir(tmp_path)
    words = [w for word in command.split() for w in (RANGE if word == "{}" else [word])]
    assert said in refused("ratings", *words)

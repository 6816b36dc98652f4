from __future__ import annotations

import shlex

import pytest

from crowdcore.cli._options import settings
from crowdcore.runs import RunSpec, command_line


def test_the_usual_seeds_are_a_number() -> None:
    spec = RunSpec(dataset="labelme", method="conal", settings={"epochs": 20, "lr": 0.01}, seeds=(0, 1, 2))
    assert command_line(spec) == "crowdcore train labelme --method conal --seeds 3 --epochs 20 --set lr=0.01 --accept"


def test_other_seeds_and_a_device_are_named() -> None:
    spec = RunSpec(dataset="/a b/c", method="trace", seeds=(4, 2), device="cuda:1")
    words = shlex.split(command_line(spec))
    assert words[2:] == ["/a b/c", "--method", "trace", "--seed", "4", "--seed", "2", "--device", "cuda:1", "--accept"]


@pytest.mark.parametrize("value", [1, 0.5, True, None, "mw", "true", "3", "a b", "", {"hidden": 4}, [1, "x"], "ü'\""])
def test_the_command_line_reads_what_is_written(value: object) -> None:
    words = shlex.split(command_line(RunSpec(dataset="d", method="m", settings={"x": value})))
    assert settings([words[words.index("--set") + 1]]) == {"x": value}

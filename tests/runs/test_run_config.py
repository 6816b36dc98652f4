from __future__ import annotations

import json
import shlex

import pytest
from hypothesis import given, strategies as st

from crowdcore.cli._command import settings
from crowdcore.core.errors import SettingError
from crowdcore.runs import RunSpec, command_line

plain = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
specs = st.builds(
    RunSpec,
    dataset=st.text(min_size=1),
    fingerprint=st.text("0123456789abcdef", max_size=32),
    method=st.text(min_size=1),
    settings=st.dictionaries(st.text(), plain, max_size=4),
    seeds=st.lists(st.integers(0, 2**40), min_size=1, max_size=5, unique=True).map(tuple),
    device=st.sampled_from(["auto", "cpu", "cuda:1"]),
    priority=st.integers(-9, 9),
    group=st.text(max_size=5),
    parent=st.text(max_size=5),
)


@given(specs)
def test_a_spec_survives_its_record(spec: RunSpec) -> None:
    assert RunSpec(**json.loads(spec.model_dump_json())) == spec


@pytest.mark.parametrize("seeds", [(), (1, 1), (-1,)])
def test_seeds_are_different_numbers(seeds: tuple[int, ...]) -> None:
    with pytest.raises(SettingError, match="seeds"):
        RunSpec(dataset="demo", method="conal", seeds=seeds)


def test_unknown_fields_are_refused() -> None:
    with pytest.raises(SettingError, match="sedes"):
        RunSpec(dataset="demo", method="conal", sedes=(1,))


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

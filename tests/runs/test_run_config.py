from __future__ import annotations

import json

import pytest
from hypothesis import given, strategies as st

from crowdcore.core.errors import SettingError
from crowdcore.runs import RunSpec

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

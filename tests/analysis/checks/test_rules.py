"""Files of rules: the example is right, and what is wrong is refused by name."""

from __future__ import annotations

from pathlib import Path

import pytest

from crowdcore.analysis import Rules, example_rules, read_rules
from crowdcore.analysis.checks.rules import LIMITS, Measures, recommended
from crowdcore.core.errors import CrowdError


def test_the_example_limits_everything_at_its_defaults(tmp_path: Path) -> None:
    file = tmp_path / "rules.yaml"
    file.write_text(example_rules())
    assert read_rules(file) == Rules(**recommended())


def test_every_rule_is_measured() -> None:
    found = {name.split("_", 1)[1] for name in LIMITS} - {"class_percent"}
    assert found | {"smallest_class_percent", "largest_class_percent"} <= set(dir(Measures))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("rules.yaml", "max_shared_mistakes: 3\nseed: 1\n"),
        ("rules.toml", "max_shared_mistakes = 3\nseed = 1\n"),
        ("rules.json", '{"max_shared_mistakes": 3, "seed": 1}'),
    ],
)
def test_all_formats_say_the_same(name: str, text: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    assert read_rules(tmp_path / name) == Rules(max_shared_mistakes=3, seed=1)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("min_krippendorf_alpha: 0.4", "Did you mean `min_krippendorff_alpha`?"),
        ("nonsense: 1", "--example-rules"),
        ("max_shared_mistakes: many", "max_shared_mistakes"),
        ("min_krippendorff_alpha: 4", "min_krippendorff_alpha"),
        ("min_krippendorff_alpha: .nan", "min_krippendorff_alpha"),
        ("max_shared_mistakes: [1, 2]", "be one number or name"),
        ("max_shared_mistakes: 1\nmax_shared_mistakes: 2", "hold each name once"),
        ("seed: 1", "limit something"),
        ("", "names with values"),
        ("- 1", "names with values"),
        ("a: [", "cannot be read"),
        ("a: !!python/object:os.system 1", "cannot be read"),
    ],
)
def test_what_is_wrong_is_said(text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "rules.yaml").write_text(text)
    with pytest.raises(CrowdError) as refusal:
        read_rules(tmp_path / "rules.yaml")
    assert said in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_a_file_that_is_not_there_or_of_another_kind_is_refused(tmp_path: Path) -> None:
    for name in ("rules.yaml", "rules.ini"):
        with pytest.raises(CrowdError, match="rules"):
            read_rules(tmp_path / name)

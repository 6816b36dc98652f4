"""The structure stays as in docs/design.md: no circles, a budget of lines for each package, files of one idea."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import grimp
import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from tests.packaging.conftest import ROOT

PINS = 100  # sentences that tests compare with what is said
BUDGET = re.compile(r"^\| `([\w/]+)` \| ([\d,]+) \|", re.MULTILINE)


def count_lines(folder: str) -> int:
    return sum(len(file.read_text(encoding="utf-8").splitlines()) for file in (ROOT / folder).rglob("*.py"))


def test_no_package_exceeds_its_budget_of_lines() -> None:
    """Raising a budget takes a sentence in docs/design.md that says what the lines buy."""
    budgets = BUDGET.findall((ROOT / "docs/design.md").read_text(encoding="utf-8"))
    packages = {f"crowdcore/{path.name}" for path in (ROOT / "crowdcore").iterdir() if (path / "__init__.py").exists()}
    assert {package for package, _ in budgets} == packages | {"dashboard", "tests"}
    over = {name: lines for name, most in budgets if (lines := count_lines(name)) > int(most.replace(",", ""))}
    assert over == {}


def test_no_module_imports_itself_through_others() -> None:
    graph = grimp.build_graph("crowdcore", "dashboard", exclude_type_checking_imports=True, cache_dir=None)
    number = {module: k for k, module in enumerate(sorted(graph.modules))}
    pairs = [(number[a], number[b]) for a in number for b in graph.find_modules_directly_imported_by(a) if b in number]
    start, end = np.array(pairs).T
    matrix = csr_array((np.ones(len(pairs)), (start, end)), (len(number), len(number)))
    n_components, component = connected_components(matrix, connection="strong")
    circles = [[m for m in number if component[number[m]] == k] for k in range(n_components)]
    assert [circle for circle in circles if len(circle) > 1] == []


def imported(file: Path) -> set[str]:
    """First part of the name of each module that a file imports."""
    return set(re.findall(r"^ *(?:from|import) (\w+)", file.read_text(encoding="utf-8"), re.MULTILINE))


def test_tests_and_benchmarks_do_not_import_each_other() -> None:
    for folder, others in (("tests", {"benchmarks"}), ("benchmarks", {"tests"}), ("testkit", {"tests", "benchmarks"})):
        files = [str(file) for file in (ROOT / folder).rglob("*.py") if imported(file) & others]
        assert files == []


def compared(node: ast.AST) -> Iterator[ast.expr]:
    """Yield what an assert compares, or looks for at the ends of a text, and the pattern that an error must match."""
    if isinstance(node, ast.Assert):
        for part in ast.walk(node.test):
            if isinstance(part, ast.Compare):
                yield from (part.left, *part.comparators)
            elif isinstance(part, ast.Call) and getattr(part.func, "attr", "") in {"startswith", "endswith"}:
                yield from part.args
    elif isinstance(node, ast.keyword) and node.arg == "match":
        yield node.value


def literal(node: ast.expr) -> str:
    """The text of a string, also of one with values in it."""
    parts = node.values if isinstance(node, ast.JoinedStr) else [node]
    return "".join(str(part.value) if isinstance(part, ast.Constant) else "0" for part in parts)


def test_tests_compare_codes_and_values_not_sentences() -> None:
    """A sentence has five words or more, and a word a letter."""
    files = sorted((ROOT / "tests").rglob("*.py"))
    texts = [
        (file, literal(side))
        for file in files
        for node in ast.walk(ast.parse(file.read_text("utf-8")))
        for side in compared(node)
    ]
    pins = [(file.name, text) for file, text in texts if len(re.findall(r"\S*[A-Za-z]\S*", text)) >= 5]
    assert len(pins) <= PINS, pins

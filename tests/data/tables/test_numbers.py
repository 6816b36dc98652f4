"""Numbers as people write them: commas before decimals, or between thousands."""

from __future__ import annotations

import pytest

from crowdcore.data import examine
from tests.data.reading.read_case import table
from tests.data.test_odd_inputs import ROWS

PRICES = ("980", "1,020", "1,234", "12,500")


def prices(*cells: str, delimiter: str = ",") -> str:
    rows = [(t, w, cells[k % len(cells)]) for k, (t, w, _) in enumerate(ROWS)]
    return table(rows, "task", "worker", "rating", delimiter=delimiter)


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_commas_that_may_part_thousands_are_asked_about(write, delimiter):
    path, ends = write(prices(*PRICES, delimiter=delimiter)), {"low": 0, "high": 20_000}
    imported = examine(path, **ends)
    (question,) = imported.report.questions
    assert (question.code, question.column, question.examples) == ("thousands", "rating", ("1,020",))
    assert [remedy.choices for remedy in question.remedies] == [({"decimal": "."},), ({"decimal": ","},)]
    for sign, numbers in ((".", {980, 1020, 1234, 12500}), (",", {980, 1.02, 1.234, 12.5})):
        read = examine(path, decimal=sign, **ends)
        assert not read.report.changes and {*read.dataset().rating.tolist()} == numbers


@pytest.mark.parametrize(
    ("cells", "numbers"),
    [
        (("1,234,567", "12"), {1234567, 12}),
        (("1,234.5", "12", "0.5"), {1234.5, 12, 0.5}),
        (("1.234,5", "2,5", "7"), {1234.5, 2.5, 7}),
        (("0,125", "0,500", "1,000"), {0.125, 0.5, 1}),
    ],
)
def test_numbers_of_one_meaning_are_read_so(write, cells, numbers):
    imported = examine(write(prices(*cells, delimiter=";")), low=0, high=2e6)
    assert not imported.report.changes
    assert {*imported.dataset().rating.tolist()} == numbers


@pytest.mark.parametrize("cells", [("1.234", "0.567"), ("1.234", "7"), ("1,2", "1,3"), ("a,bcd", "1,234"), ("01,234",)])
def test_other_cells_stay_as_they_are(write, cells):
    imported = examine(write(prices(*cells)), kind="classes")
    assert {*imported.report.classes} == {*cells} and not imported.report.questions


def test_a_column_without_a_role_is_no_question(write):
    rows = [(*row, PRICES[k % 4]) for k, row in enumerate(ROWS)]
    assert not examine(write(table(rows, "task", "worker", "label", "price"))).report.questions

"""Tasks without an id are called by their number, which must not be another task's id."""

from __future__ import annotations

import pytest

from crowdcore.core.errors import DataError
from crowdcore.data import examine, read_dataset

REFUSED = r"^The task in row 2 has no id, and its number 2 is another task's id \(.*\)\. Give every task an id\."


def studio(number, *answers):
    result = [{"from_name": "sentiment", "type": "choices", "value": {"choices": ["pos"]}}]
    return {
        "data": {"text": f"text {number}"},
        "annotations": [{"completed_by": who, "result": result} for who in answers],
    }


def argilla(number, *answers):
    given = [{"value": "pos", "user_id": who, "status": "submitted"} for who in answers]
    return {"fields": {"text": f"text {number}"}, "responses": {"sentiment": given}}


def doccano(number, *answers):
    return {"text": f"text {number}", "annotations": [{"user": who, "label": 1} for who in answers], "id": None}


@pytest.mark.parametrize(("record", "form"), [(argilla, "argilla"), (studio, "label-studio"), (doccano, "doccano")])
def test_a_number_is_no_other_tasks_id(write, record, form):
    plain = [record(1, "ann", "ben"), record(2, "ann", "ben")]
    found = examine(write(plain, "export.json"))
    assert (found.report.format, list(found.dataset(accept=True).task_ids)) == (form, ["1", "2"])
    with pytest.raises(DataError, match=REFUSED):
        read_dataset(write([plain[0] | {"id": 2}, plain[1]], "mixed.json"))
    with pytest.raises(DataError, match=REFUSED):
        read_dataset(write([plain[0] | {"id": 7}, plain[1], plain[0] | {"id": 2}], "later.json"))

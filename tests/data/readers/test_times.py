"""Points in time as annotation tools write them."""

from __future__ import annotations

import pytest

from crowdcore.data.times import iso_time


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("Thu Jun 16 12:59:33 PDT 2011", "2011-06-16T19:59:33Z"),
        ("Wed Aug 14 16:00:59 UTC 2019", "2019-08-14T16:00:59Z"),
        ("Thu Jun 16 12:59:33 CEST 2011", "Thu Jun 16 12:59:33 CEST 2011"),
        ("Thu Jux 16 12:59:33 PDT 2011", "Thu Jux 16 12:59:33 PDT 2011"),
        ("6/30/2014 14:28:16", "2014-06-30T14:28:16"),
        ("30/6/2014 14:28:16", "30/6/2014 14:28:16"),
        ("2024-01-01T12:00:00+02:00", "2024-01-01T10:00:00Z"),
        ("2024-01-01 12:00:00", "2024-01-01T12:00:00"),
        (1_700_000_000, "2023-11-14T22:13:20Z"),
        (1_700_000_000_000, "2023-11-14T22:13:20Z"),
        (1e300, "1e+300"),
        ("soon", "soon"),
        (float("nan"), None),
        (True, None),
        ("", None),
        ([], None),
    ],
)
def test_one_form_for_all(written, read):
    assert iso_time(written) == read

"""Contract of every method in the folder."""

from __future__ import annotations

import pytest

from crowdcore.learning import methods
from crowdcore.learning.methods.crowd_layer import CrowdLayer
from crowdcore.testing import check_method


@pytest.mark.parametrize("name", methods.names())
def test_every_method_keeps_what_it_promises(name):
    check_method(name)


class Undescribed(CrowdLayer):
    """The crowd layer without a paper."""

    name = "undescribed"
    paper = ""


def test_a_method_of_ones_own_that_breaks_a_promise_is_told_which():
    check_method(Undescribed, "the order of workers does not matter")
    with pytest.raises(AssertionError) as broken:
        check_method(Undescribed)
    assert "'it is described'" in broken.value.__notes__[0]

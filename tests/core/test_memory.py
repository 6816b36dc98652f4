"""Memory of the process."""

from __future__ import annotations

from contextlib import ExitStack

import pyarrow as pa

from crowdcore.core.memory import frugal_memory


def test_the_usual_pool_comes_back_whoever_leaves_first():
    usual = pa.default_memory_pool().backend_name
    one, other = ExitStack(), ExitStack()  # as two sessions that open datasets at once
    one.enter_context(frugal_memory())
    assert pa.default_memory_pool().backend_name == "system"
    other.enter_context(frugal_memory())
    one.close()
    other.close()
    assert pa.default_memory_pool().backend_name == usual

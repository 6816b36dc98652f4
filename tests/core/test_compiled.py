"""Functions that Numba compiles at their first call."""

from __future__ import annotations

import subprocess
import sys

from crowdcore.core.compiled import LARGE, compiled, is_large


@compiled
def double(n: int) -> int:
    """2n."""
    return 2 * n


@compiled
def quadruple(n: int) -> int:
    return double(double(n))


def test_compiled_functions_call_each_other_and_keep_their_names():
    assert double.__doc__ == "2n." and quadruple.__name__ == "quadruple"
    assert quadruple(3) == 12
    assert hasattr(quadruple, "signatures") and hasattr(double, "signatures")  # Numba's


def test_large_starts_at_the_limit():
    assert is_large(LARGE) and not is_large(LARGE - 1)


def test_small_inputs_never_load_numba():
    code = (
        "import sys, numpy as np, crowdcore.core.latent_loops; from crowdcore.core import counts;"
        "counts.vote_counts(np.arange(9), np.zeros(9, int), 9, 2); print('numba' in sys.modules)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "False"

"""Compiled loops, chains, memory and progress."""

from __future__ import annotations

import io
import subprocess
import sys
import threading
import time
from contextlib import ExitStack
from itertools import pairwise, product

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.sparse
from hypothesis import given, strategies as st
from scipy.optimize import minimize

import crowdcore as cc
from crowdcore.core.chains import Chains, Crf
from crowdcore.core.compiled import LARGE, compiled, is_large, n_ranges, run_ranges
from crowdcore.core.errors import CrowdError
from crowdcore.core.memory import frugal_memory
from crowdcore.core.shown import progress
from crowdcore.exhibits import view
from crowdcore.exhibits.overview import check
from crowdcore.exhibits.verdicts import verdicts


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


@pytest.mark.parametrize("cores", [1, 3])
def test_ranges_cover_the_work_in_order(monkeypatch, cores):
    monkeypatch.setattr("crowdcore.core.compiled.cores", lambda: cores)
    seen = run_ranges(10, 4, lambda k, first, last: (k, *range(first, last)))
    assert seen == [(0, 0, 1), (1, 2, 3, 4), (2, 5, 6), (3, 7, 8, 9)]


def test_threads_share_the_ranges(monkeypatch):
    monkeypatch.setattr("crowdcore.core.compiled.cores", lambda: 2)
    meet = threading.Barrier(2, timeout=20)  # passes only if two ranges run at once
    assert run_ranges(2, 2, lambda k, first, last: meet.wait() >= 0) == [True, True]


@given(st.integers(0, 10**9), st.integers(1, 10**7))
def test_number_of_ranges_is_a_small_power_of_two_that_keeps_accumulators_small(work, accumulator):
    parts = n_ranges(work, accumulator)
    assert parts in {1, 2, 4, 8, 16}
    assert parts == 1 or parts * accumulator * 4 <= work


LENGTHS = [3, 1, 4, 2, 4]


@pytest.fixture
def problem():
    rng = np.random.default_rng(0)
    start = np.concatenate([[0], np.cumsum(LENGTHS)])
    return start, rng.normal(size=(start[-1], 3)), rng.normal(size=3), rng.normal(size=(3, 3))


def paths(log_emission, log_first, log_move):
    for path in product(range(3), repeat=len(log_emission)):
        score = log_first[path[0]] + sum(log_emission[i, z] for i, z in enumerate(path))
        yield path, score + sum(log_move[a, b] for a, b in pairwise(path))


def test_forward_backward_is_the_sum_over_all_paths(problem):
    start, emission, first, move = problem
    posterior, begins, pairs, likelihood = np.zeros_like(emission), np.zeros(3), np.zeros((3, 3)), 0.0
    for a, b in pairwise(start):
        scored = [(path, np.exp(score)) for path, score in paths(emission[a:b], first, move)]
        total = sum(weight for _, weight in scored)
        likelihood += np.log(total)
        for path, weight in scored:
            begins[path[0]] += weight / total
            for i, z in enumerate(path):
                posterior[a + i, z] += weight / total
            for one, other in pairwise(path):
                pairs[one, other] += weight / total
    fit = Chains(start).forward_backward(emission, first, move)
    np.testing.assert_allclose(fit.posterior, posterior, atol=1e-12)
    np.testing.assert_allclose(fit.first, begins, atol=1e-12)
    np.testing.assert_allclose(fit.pairs, pairs, atol=1e-12)
    assert fit.log_likelihood == pytest.approx(likelihood)


def test_each_chain_has_its_own_partition_and_weight(problem):
    start, *tables = problem
    weight, together = np.array([0.5, 2.0, 0.0, 1.0, 0.25]), Chains(start)
    alone = [Chains(np.array([0, b - a])).forward_backward(tables[0][a:b], *tables[1:]) for a, b in pairwise(start)]
    fit = together.forward_backward(*tables, weight)
    np.testing.assert_allclose(fit.first, sum(w * one.first for w, one in zip(weight, alone, strict=True)))
    np.testing.assert_allclose(fit.pairs, sum(w * one.pairs for w, one in zip(weight, alone, strict=True)))
    np.testing.assert_allclose(together.log_partition(*tables), [one.log_likelihood for one in alone])


def test_viterbi_is_the_best_of_all_paths(problem):
    start, emission, first, move = problem
    path = Chains(start).most_probable(emission, first, move)
    for a, b in pairwise(start):
        best = max(paths(emission[a:b], first, move), key=lambda scored: scored[1])[0]
        assert tuple(path[a:b]) == best


def test_long_chains_and_impossible_states_do_not_underflow():
    emission = np.full((5000, 2), -1e5)
    emission[:, 0] = -np.inf
    fit = Chains(np.array([0, 5000])).forward_backward(emission, np.zeros(2), np.array([[0.0, -50.0], [0.0, -50.0]]))
    assert np.isfinite(fit.log_likelihood)
    np.testing.assert_allclose(fit.posterior[:, 1], 1)


def test_emissions_made_as_needed_fill_the_posterior(monkeypatch):
    monkeypatch.setattr("crowdcore.core.chains.ELEMENTS", 2)
    rng = np.random.default_rng(3)
    chains = Chains(np.array([0, 3, 4, 8]))
    emission, first, move = rng.normal(size=(8, 3)), rng.normal(size=3), rng.normal(size=(3, 3))
    want, posterior = chains.forward_backward(emission, first, move), np.zeros((8, 3))
    update = chains.update(posterior, lambda at: emission[at], first, move)
    alone = chains.update(None, lambda at: emission[at], first, move)
    np.testing.assert_array_equal(posterior, want.posterior)
    for sums in (update, alone):
        np.testing.assert_array_equal(sums.pairs, want.pairs)
        assert sums.log_likelihood == want.log_likelihood
    assert chains.most_probable(lambda at: emission[at], first, move).tolist() == (
        chains.most_probable(emission, first, move).tolist()
    )


CHAINS = Chains(np.array([0, 3, 4, 8]))
X = scipy.sparse.random_array((8, 4), density=0.6, rng=np.random.default_rng(0)).tocsr()
STATES = np.array([0, 1, 2, 0, 2, 2, 1, 1])


def observed() -> np.ndarray:
    """Number of times that each feature, first state and move goes with each state."""
    states = np.eye(3)[STATES]
    first, moves = states[[0, 3, 4]].sum(0), np.zeros((3, 3))
    for a, b in [(0, 1), (1, 2), (4, 5), (5, 6), (6, 7)]:
        moves[STATES[a], STATES[b]] += 1
    return np.vstack([X.T @ states, first, moves])


def objective(flat: np.ndarray) -> float:
    crf = Crf(flat.reshape(8, 3))
    partition = CHAINS.log_partition(crf.scores(X), crf.first, crf.move).sum()
    return float((crf.table * observed()).sum() - partition - 0.3 / 2 * flat @ flat)


def test_it_learns_the_largest_penalised_likelihood():
    crf = Crf.untrained(4, 3).learn(X, CHAINS, observed(), ridge=0.3, rounds=200)
    without_slopes = minimize(lambda flat: -objective(flat), np.zeros(24), options={"gtol": 1e-6})
    np.testing.assert_allclose(crf.table.ravel(), without_slopes.x, atol=1e-3)
    assert objective(crf.table.ravel()) == pytest.approx(-without_slopes.fun, abs=1e-6)
    more = crf.learn(X, CHAINS, observed(), ridge=0.3, rounds=1)
    assert objective(more.table.ravel()) >= objective(crf.table.ravel())


def test_untrained_all_paths_are_equally_likely_and_forbidden_ones_are_not_taken():
    crf = Crf.untrained(4, 3)
    np.testing.assert_allclose(crf.posterior(X, CHAINS), 1 / 3)
    forbidden = np.zeros((4, 3), bool)
    forbidden[:, 0] = True
    forbidden[1, 1] = forbidden[2, 2] = True
    path = crf.most_probable(X, CHAINS, forbidden)
    assert 0 not in path
    inside = np.array([1, 2, 5, 6, 7])
    assert (path[inside] != path[inside - 1]).all()


def test_the_usual_pool_comes_back_whoever_leaves_first():
    usual = pa.default_memory_pool().backend_name
    one, other = ExitStack(), ExitStack()  # as two sessions that open datasets at once
    one.enter_context(frugal_memory())
    assert pa.default_memory_pool().backend_name == "system"
    other.enter_context(frugal_memory())
    one.close()
    other.close()
    assert pa.default_memory_pool().backend_name == usual


@pytest.mark.parametrize("gold", [True, False])
def test_three_thousand_classes_are_refused_before_memory_runs_out(gold, monkeypatch):
    monkeypatch.setattr("crowdcore.core.memory.available_memory", lambda: 8 << 30)
    rng, columns = np.random.default_rng(0), ["task", "worker", "label", "gold"][: 3 + gold]
    rows = [(t, w, f"c{rng.integers(3000)}", f"c{t}") for t in range(3000) for w in rng.choice(40, 3, replace=False)]
    votes = cc.from_frame(pd.DataFrame([row[: 3 + gold] for row in rows], columns=columns), kind="classes")
    for look in (verdicts, check) if gold else (verdicts,):
        with pytest.raises(CrowdError, match="40 workers"):
            look(view(votes, "gold" if gold else "auto"))
    assert len(view(votes, "gold" if gold else "majority-vote").of(cc.analysis.summary).frame())


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("screen", [Screen(), io.StringIO()], ids=["terminal", "file"])
def test_a_bar_is_for_terminals(screen: io.StringIO, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", screen)
    with progress() as tell:
        for epoch in (1, 2):
            time.sleep(0.15)  # tqdm writes ten times a second at most
            tell(epoch / 2, f"conal, epoch {epoch} of 2")
    printed = screen.getvalue()
    assert ("epoch 2 of 2" in printed and "100 %" in printed) == screen.isatty()
    assert printed == "" or screen.isatty()


def test_training_shows_its_epochs(monkeypatch: pytest.MonkeyPatch) -> None:
    learning = pytest.importorskip("crowdcore.learning")
    screen = Screen()
    monkeypatch.setattr(sys, "stderr", screen)
    learning.train("demo", "dl-mv", seeds=1, epochs=50, device="cpu")  # longer than between two looks of the bar
    assert "dl-mv, epoch" in screen.getvalue()
    at = len(screen.getvalue())
    learning.train("demo", "dl-mv", seeds=1, epochs=2, device="cpu", on_event=lambda event: None)
    assert len(screen.getvalue()) == at

"""Are the sentences true? Crowds whose truth is known go in; every sentence that pages conclude of them is scored.

The sentences come from the exhibits that pages, commands and the report show: the action list (`exhibits.verdicts`),
pairs, groups, and who gets no tasks next. Kinds of crowds are in `testkit.known_truth`; each is judged with gold, and
without by `auto` and by votes.

``python -m benchmarks.conclusions [--crowds N] [--first SEED] [--kind WORDS] [--reference NAME …] [--jobs N]`` prints
three tables: what is said of honest workers, what is said of planted ones, and how sure labels are. It ends with 1 if a
bound is missed by more than two standard errors.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial

import numpy as np

from crowdcore import exhibits
from crowdcore.exhibits import coordinated, verdicts, workers
from testkit.known_truth import ADVERSARY, CONFUSED, COPIES, FALLS, HONEST, PLANTED, SPAMMER, Known

REFERENCES = ("gold", "auto", "majority-vote")
GREAT = 20.0  # points of effect from which praise of a planted worker is a fault
CONFUSION = 0.2  # share of a class from which pages say that a worker confuses it
MOST = {
    "accused": 0.05,
    "praised": 0.05,
    "trained falsely": 0.10,
    "carriers blamed": 0.05,
    "trusted though p < .05": 0.0,
}
LEAST = {"P ≥ .99 right": 0.95}
POWER = {
    ("tickets", COPIES): 0.95,
    ("spams, 2 classes", SPAMMER): 0.85,
    ("guesses in the last fifth, 4 classes", FALLS): 0.75,
    ("tickets", FALLS): 0.85,
}
"""What has to be found at least; a decline counts as found where it is said to be possible."""


@dataclass(frozen=True)
class Score:
    """What was concluded of one crowd.

    Attributes:
        removed, together, falls, weak, trained: whether this is said of an honest worker.
        accused: whether any page accuses an honest worker of guessing, acting with others or falling.
        trained_all, trained_false: sentences "train", and those that the true classes contradict.
        carriers_blamed: whether a carrier of the guideline's mistake is accused or told to train on it; NaN without.
        cell_found, cells_false: whether the guideline's mistake is on the list, and other mistakes that are.
        named: what was planted -> whether all its workers are named for it.
        praised: whether a planted worker of great effect is trusted; NaN without.
        suspect_trusted: whether anybody is trusted whose fall has p < .05, uncorrected.
        sure_all, sure_right: labels said with P ≥ .99, and those of them that are true.
        relabel, by_auto: wrong labels among as many first tasks to relabel as there are wrong labels, by our order and
            by the posterior of `auto`.
        wrong: labels of `auto` that are wrong.
    """

    removed: bool
    together: bool
    falls: bool
    weak: bool
    trained: bool
    accused: bool
    trained_all: int
    trained_false: int
    carriers_blamed: float
    cell_found: float
    cells_false: int
    named: dict[str, bool]
    praised: float
    suspect_trusted: bool
    sure_all: int
    sure_right: int
    relabel: int
    by_auto: int
    wrong: int


def score(known: Known, reference: str) -> Score:
    """Score everything that is concluded of one crowd by one reference."""
    if reference != "gold":
        known = known.without_gold()
    ds, honest = known.dataset, known.honest
    view = exhibits.view(ds, reference)
    found = verdicts.workers_judged(view)
    name_of = {name: number for number, name in enumerate(view.workers)}
    pairs = workers.worker_pairs(view).table
    in_pairs = np.zeros(ds.n_workers, bool)
    for column in ("worker_a", "worker_b"):
        in_pairs[[name_of[name] for name in pairs[column][pairs["named"].to_numpy(bool)]]] = True
    together = found.together | in_pairs
    for group in coordinated.coordinated(view).groups:
        together[group.members] = True
    removed, falls = found.verdict == "remove", found.drifts
    accused = removed | together | falls
    weak = (found.verdict == "check") & ~together & ~falls
    trained = found.verdict == "train"
    cells = found.confused
    false = np.array([_contradicted(known, r, cells.true[r], cells.given[r]) for r in range(ds.n_workers)])
    blamed = float("nan")
    if known.shared is not None and known.carriers is not None:
        on_it = trained & (cells.true == known.shared[0]) & (cells.given == known.shared[1])
        blamed = float((known.carriers & honest & (accused | on_it)).any())
    table = verdicts.mistakes_in_words(view).table
    said = table[table["shared"]]
    classes = {name: c for c, name in enumerate(view.classes)}
    listed = {(classes[a], classes[b]) for a, b in zip(said["true"], said["given"], strict=True)}
    suspect = found.drift is not None and bool(((found.verdict == "trust") & (found.drift.p_value < 0.05)).any())
    named_for = {
        SPAMMER: removed,
        ADVERSARY: removed | weak | together,
        COPIES: together,
        CONFUSED: trained & (cells.true == 0) & (cells.given == 1),
        FALLS: falls,
    }
    planted = [r for members in known.planted.values() for r in members]
    tasks = verdicts.task_verdicts(view).table
    sure = tasks[tasks["probability"] >= 0.99]
    right = np.array([classes[label] for label in sure["label"]], int) == known.true[sure.index.to_numpy(int)]
    wrong = ours = auto = 0
    if reference == "auto":
        posterior = np.asarray(view.truth.posterior)
        bad = posterior.argmax(1) != known.true
        label = tasks["label"].map(classes).to_numpy()
        first = np.arange(bad.sum())
        wrong = int(bad.sum())
        ours = int((label[first] != known.true[tasks.index.to_numpy(int)[first]]).sum())
        auto = int(bad[np.argsort(posterior.max(1), kind="stable")[:wrong]].sum())
    return Score(
        *((some & honest).any() for some in (removed, together, falls, weak, trained, accused)),
        int(trained.sum()),
        int((trained & false).sum()),
        blamed,
        float("nan") if known.shared is None else float(known.shared in listed),
        len(listed - {known.shared}),
        {what: bool(named_for[what][list(members)].all()) for what, members in known.planted.items()},
        float(found.verdict[planted].tolist().count("trust") > 0)
        if planted and known.effect >= GREAT
        else float("nan"),
        suspect,
        len(sure),
        int(right.sum()),
        ours,
        auto,
        wrong,
    )


def _contradicted(known: Known, worker: int, true: int, given: int) -> bool:
    """Whether the true classes speak against "this worker confuses these classes".

    They do where the share is below the one that pages speak of by more than two standard errors, or not above that of
    the other workers.
    """
    if true < 0:
        return False
    ds = known.dataset
    of = known.true[ds.task] == true
    mine, others = of & (ds.worker == worker), of & (ds.worker != worker)
    n, share = max(mine.sum(), 1), float((ds.label[mine] == given).mean()) if mine.any() else 0.0
    usual = float((ds.label[others] == given).mean()) if others.any() else 0.0
    return share + 2 * np.sqrt(CONFUSION * (1 - CONFUSION) / n) < CONFUSION or share <= usual


def run(kind: str, reference: str, seed: int) -> Score:
    """One crowd of a kind, scored by one reference."""
    make = HONEST.get(kind) or PLANTED[kind]
    return score(make(np.random.default_rng([seed, len(kind)])), reference)


def _mean(values: Sequence[float]) -> str:
    known = np.asarray(values, float)
    known = known[~np.isnan(known)]
    return f"{known.mean():.2f}" if len(known) else "–"


def main() -> int:
    ask = argparse.ArgumentParser()
    ask.add_argument("--crowds", type=int, default=50)
    ask.add_argument("--first", type=int, default=0)
    ask.add_argument("--kind", default="")
    ask.add_argument("--reference", action="append")
    ask.add_argument("--jobs", type=int, default=2)
    asked = ask.parse_args()
    seeds = range(asked.first, asked.first + asked.crowds)
    kinds = [kind for kind in (*HONEST, *PLANTED) if asked.kind in kind]
    rows: dict[tuple[str, str], list[Score]] = {}
    with ProcessPoolExecutor(asked.jobs) as pool:
        for kind in kinds:
            for reference in asked.reference or REFERENCES:
                rows[kind, reference] = [*pool.map(partial(run, kind, reference), seeds)]
                print(".", end="", file=sys.stderr, flush=True)
    print(f"\n{asked.crowds} crowds a kind, seeds from {asked.first}.\n")
    missed = [*honest_table(rows), *planted_table(rows), *sure_table(rows)]
    print("\nBounds missed: " + ("; ".join(missed) or "none"))
    return int(bool(missed))


Rows = dict[tuple[str, str], list[Score]]


def _over(share: float, bound: float, n: float) -> bool:
    return share > bound + 2 * np.sqrt(max(bound * (1 - bound), 0) / max(n, 1))


def honest_table(rows: Rows) -> list[str]:
    """What is said of honest workers, as shares of crowds; "train" as a share of its sentences."""
    print(
        "| crowds | reference | accused | removed | together | falls | weak | train, false | wrong cells | carriers |"
    )
    print("|---|---|--:|--:|--:|--:|--:|--:|--:|--:|")
    missed = []
    for (kind, reference), scores in rows.items():
        n, all_, false = len(scores), sum(s.trained_all for s in scores), sum(s.trained_false for s in scores)
        shares = [
            np.mean([getattr(s, what) for s in scores]) for what in ("accused", "removed", "together", "falls", "weak")
        ]
        train = f"{false} of {all_}" if all_ else "–"
        mistakes, carriers = np.mean([s.cells_false > 0 for s in scores]), [s.carriers_blamed for s in scores]
        print(
            f"| {kind} | {reference} | "
            + " | ".join(f"{share:.2f}" for share in shares)
            + f" | {train} | {mistakes:.2f} | {_mean(carriers)} |"
        )
        where = f"{kind}, {reference}"
        if _over(shares[0], MOST["accused"], n):
            missed.append(f"accused {shares[0]:.2f} ({where})")
        if all_ and _over(false / all_, MOST["trained falsely"], all_):
            missed.append(f"train {false} of {all_} false ({where})")
        if not np.isnan(carriers).all() and _over(float(np.nanmean(carriers)), MOST["carriers blamed"], n):
            missed.append(f"carriers blamed {np.nanmean(carriers):.2f} ({where})")
    return missed


def planted_table(rows: Rows) -> list[str]:
    """What is said of planted workers, as shares of crowds."""
    print("\n| planted | reference | named for it | guideline found | praised | trusted though p < .05 |")
    print("|---|---|---|--:|--:|--:|")
    missed = []
    for (kind, reference), scores in rows.items():
        if kind not in PLANTED:
            continue
        named = {what: float(np.mean([s.named[what] for s in scores])) for what in scores[0].named}
        praised = [s.praised for s in scores]
        suspect = float(np.mean([s.suspect_trusted for s in scores]))
        cells = ", ".join(f"{what} {share:.2f}" for what, share in named.items())
        found = _mean([s.cell_found for s in scores])
        print(f"| {kind} | {reference} | {cells} | {found} | {_mean(praised)} | {suspect:.2f} |")
        where = f"{kind}, {reference}"
        for (of, what), least in POWER.items():
            if (
                of == kind
                and not _over(-named[what], -least, 1e9)
                and named[what] < least - 2 * np.sqrt(least * (1 - least) / len(scores))
            ):
                missed.append(f"{what} named {named[what]:.2f} ({where})")
        if not np.isnan(praised).all() and _over(float(np.nanmean(praised)), MOST["praised"], len(scores)):
            missed.append(f"praised {np.nanmean(praised):.2f} ({where})")
        if suspect > MOST["trusted though p < .05"]:
            missed.append(f"trusted though p < .05 {suspect:.2f} ({where})")
    return missed


def sure_table(rows: Rows) -> list[str]:
    """Labels said with P ≥ .99, and wrong labels among the first to relabel."""
    print("\n| crowds | reference | P ≥ .99, right | wrong labels | of these among the first to relabel | by auto |")
    print("|---|---|--:|--:|--:|--:|")
    missed = []
    for (kind, reference), scores in rows.items():
        sure, right = sum(s.sure_all for s in scores), sum(s.sure_right for s in scores)
        wrong, ours, auto = (sum(getattr(s, what) for s in scores) for what in ("wrong", "relabel", "by_auto"))
        share = right / sure if sure else float("nan")
        relabel = f"{wrong:,} | {ours:,} | {auto:,}" if reference == "auto" else "– | – | –"
        print(f"| {kind} | {reference} | {share:.3f} | {relabel} |")
        if share < LEAST["P ≥ .99 right"]:
            missed.append(f"P ≥ .99 right in {share:.3f} ({kind}, {reference})")
    return missed


if __name__ == "__main__":
    sys.exit(main())

"""Are the pages' conclusions true? Every sentence on crowds whose truth is known is scored.

The sentences come from the exhibits that pages, commands and the report show: the action list (`exhibits.verdicts`),
pairs, groups, and who gets no tasks next. Kinds of crowds are in `testkit.known_truth`; each is judged with gold, and
without by `auto` and by votes.

``python -m benchmarks.conclusions [--crowds N] [--first SEED] [--kind WORDS] [--reference NAME …] [--jobs N] [--out
FILE]`` prints three tables, or writes them as Markdown: sentences on honest workers, sentences on planted ones, and
how sure labels are. It exits with 1 if a bound is missed: if so many crowds beyond it had less than 2.5 % chance.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from scipy.stats import binom

from crowdcore import exhibits
from crowdcore.exhibits import coordinated, verdicts, workers
from testkit.known_truth import ADVERSARY, CONFUSED, COPIES, FALLS, HONEST, PARTLY, PLANTED, SPAMMER, Known

REFERENCES = ("gold", "auto", "majority-vote")
GREAT = 20.0  # points of effect from which praise of a planted worker is a fault
CONFUSION = 0.2  # share of a class from which pages say that a worker confuses it
MAY_FALL = "may be falling"
UNLIKELY = 0.025  # chance from which a count is beyond its bound
MOST = {"accused": 0.05, "wrong cells": 0.05, "praised": 0.05, "carriers blamed": 0.05, "trusted though p < .05": 0.0}
MOST_FALSE = {"train": 0.10, "guideline": 0.10}
"""Shares of crowds, and of sentences, at most; the guideline's sentences where it has a mistake, cells where not."""
LEAST = {"P ≥ .99 right": 0.95}
POWER = {
    ("tickets", COPIES): 0.95,
    ("spams, 2 classes", SPAMMER): 0.85,
    ("guesses in the last fifth, 4 classes", FALLS): 0.75,
    ("tickets", MAY_FALL): 0.85,
}
"""Shares of crowds in which this has to be found at least."""


@dataclass(frozen=True)
class Score:
    """Scores of the conclusions about one crowd.

    Attributes:
        removed, together, falls, weak, trained: whether an honest worker gets this verdict.
        accused: whether any page accuses an honest worker of guessing, acting with others or falling.
        trained_all, trained_false: sentences "train", and those that the true classes contradict.
        carriers_blamed: whether a carrier of the guideline's mistake is accused or told to train on it; NaN without.
        cell_found: whether the guideline's mistake is on the list; NaN without.
        cells_all, cells_false: mistakes on the list, and those that are not the guideline's.
        named: planted pattern -> whether all its workers are named for it; an adversary may be told to train.
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
    cells_all: int
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
    judged = verdicts.workers_judged(view)
    name_of = {name: number for number, name in enumerate(view.workers)}
    pairs = workers.worker_pairs(view).table
    in_pairs = np.zeros(ds.n_workers, bool)
    for column in ("worker_a", "worker_b"):
        in_pairs[[name_of[name] for name in pairs[column][pairs["named"].to_numpy(bool)]]] = True
    together = judged.together | in_pairs
    for group in coordinated.coordinated(view).groups:
        together[group.members] = True
    removed, falls = judged.verdict == "remove", judged.drifts
    accused = removed | together | falls
    weak = (judged.verdict == "check") & ~together & ~falls
    trained = judged.verdict == "train"
    cells = judged.confused
    false = np.array([_contradicted(known, r, cells.true[r], cells.given[r]) for r in range(ds.n_workers)])
    blamed = float("nan")
    if known.shared is not None and known.carriers is not None:
        on_it = trained & (cells.true == known.shared[0]) & (cells.given == known.shared[1])
        blamed = float((known.carriers & honest & (accused | on_it)).any())
    table = verdicts.mistakes_in_words(view).table
    shared = table[table["shared"]]
    classes = {name: c for c, name in enumerate(view.classes)}
    listed = {(classes[a], classes[b]) for a, b in zip(shared["true"], shared["given"], strict=True)}
    suspect = judged.drift is not None and bool(((judged.verdict == "trust") & (judged.drift.p_value < 0.05)).any())
    named_for = {
        SPAMMER: removed,
        ADVERSARY: removed | weak | together | trained,
        COPIES: together,
        CONFUSED: trained & (cells.true == 0) & (cells.given == 1),
        FALLS: falls,
        MAY_FALL: falls | ((judged.verdict == "watch") & judged.may_fall),
    }
    roles = dict(known.planted) | ({MAY_FALL: known.planted[FALLS]} if FALLS in known.planted else {})
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
        len(listed),
        len(listed - {known.shared}),
        {pattern: bool(named_for[pattern][list(members)].all()) for pattern, members in roles.items()},
        float(judged.verdict[planted].tolist().count("trust") > 0)
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
    """Return whether the true classes contradict "this worker confuses these classes".

    They do where the worker's share is more than two standard errors below the one that pages claim, or no larger
    than that of the other workers.
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
    """Make one crowd of a kind, and score it by one reference."""
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
    ask.add_argument("--out", type=Path)
    args = ask.parse_args()
    seeds = range(args.first, args.first + args.crowds)
    kinds = [kind for kind in (*HONEST, *PLANTED) if args.kind in kind]
    rows: dict[tuple[str, str], list[Score]] = {}
    with ProcessPoolExecutor(args.jobs) as pool:
        for kind in kinds:
            for reference in args.reference or REFERENCES:
                if reference == "gold" or kind not in PARTLY:
                    rows[kind, reference] = [*pool.map(partial(run, kind, reference), seeds)]
                    print(".", end="", file=sys.stderr, flush=True)
    parts, missed = zip(*(table(rows) for table in (honest_table, planted_table, sure_table)), strict=True)
    every = [one for some in missed for one in some]
    text = "\n\n".join(
        [
            TITLE,
            f"`python -m benchmarks.conclusions --crowds {args.crowds} --first {args.first}`: seeds {seeds[0]} to "
            f"{seeds[-1]} of each kind.",
            *("\n".join(lines) for lines in parts),
            "Bounds missed: " + ("; ".join(every) or "none") + ".",
        ]
    )
    if args.out is None:
        print(text)
    else:
        args.out.write_text(text + "\n", encoding="utf-8")
    return int(bool(every))


TITLE = """# Are the conclusions true?

Crowds whose truth is known go in; what the action list, pairs and groups say of them is scored. *Honest*: of workers
who were not planted, the share of crowds in which one is removed, said to act with others or to fall (together:
accused), or to be weak. *Train*: sentences that the true classes contradict. *Wrong cells*: crowds in which a mistake
is called the guideline's that is not. *Praised*: crowds in which a planted worker whose plan spoils 20 % of the labels
or more is trusted. A bound counts as missed if so many crowds beyond it had less than 2.5 % chance."""
Rows = dict[tuple[str, str], list[Score]]
Table = tuple[list[str], list[str]]


def _is_over(count: float, bound: float, n: float) -> bool:
    return bool(binom.sf(count - 1, n, bound) < UNLIKELY)


def honest_table(rows: Rows) -> Table:
    """Table of sentences on honest workers, as shares of crowds; "train" and the guideline as shares of sentences."""
    head = "accused | removed | together | falls | weak | train, false | guideline, false | wrong cells | carriers"
    lines, missed = [f"| crowds | reference | {head} |", "|---|---|" + "--:|" * 9], []
    for (kind, reference), scores in rows.items():
        n, where = len(scores), f"{kind}, {reference}"
        shares = [
            np.mean([getattr(s, name) for s in scores]) for name in ("accused", "removed", "together", "falls", "weak")
        ]
        values = {
            "train": (sum(s.trained_false for s in scores), sum(s.trained_all for s in scores)),
            "guideline": (sum(s.cells_false for s in scores), sum(s.cells_all for s in scores)),
        }
        cells = [f"{false} of {every}" if every else "–" for false, every in values.values()]
        wrong, carriers = np.mean([s.cells_false > 0 for s in scores]), [s.carriers_blamed for s in scores]
        numbers = " | ".join([*(f"{share:.2f}" for share in shares), *cells, f"{wrong:.2f}"])
        lines.append(f"| {kind} | {reference} | {numbers} | {_mean(carriers)} |")
        guided = not np.isnan(carriers).all()
        crowds = {
            "accused": shares[0],
            **({"carriers blamed": np.nanmean(carriers)} if guided else {"wrong cells": wrong}),
        }
        missed += [f"{w} {share:.2f} ({where})" for w, share in crowds.items() if _is_over(share * n, MOST[w], n)]
        for sentence, (false, every) in values.items():
            if (sentence == "train" or guided) and _is_over(false, MOST_FALSE[sentence], every):
                missed.append(f"{sentence} {false} of {every} false ({where})")
    return lines, missed


def planted_table(rows: Rows) -> Table:
    """Table of sentences on planted workers, as shares of crowds."""
    head = "named for it | guideline found | praised | trusted though p < .05"
    lines, missed = [f"| planted | reference | {head} |", "|---|---|---|--:|--:|--:|"], []
    for (kind, reference), scores in rows.items():
        if kind not in PLANTED:
            continue
        n, where = len(scores), f"{kind}, {reference}"
        named = {pattern: sum(s.named[pattern] for s in scores) for pattern in scores[0].named}
        praised, suspect = [s.praised for s in scores], sum(s.suspect_trusted for s in scores)
        cells = ", ".join(f"{pattern} {count / n:.2f}" for pattern, count in named.items())
        mean = _mean([s.cell_found for s in scores])
        lines.append(f"| {kind} | {reference} | {cells} | {mean} | {_mean(praised)} | {suspect / n:.2f} |")
        for (of, pattern), least in POWER.items():
            if of == kind and binom.cdf(named[pattern], n, least) < UNLIKELY:
                missed.append(f"{pattern} named {named[pattern] / n:.2f} ({where})")
        if not np.isnan(praised).all() and _is_over(float(np.nansum(praised)), MOST["praised"], n):
            missed.append(f"praised {np.nanmean(praised):.2f} ({where})")
        if suspect:
            missed.append(f"trusted though p < .05 {suspect / n:.2f} ({where})")
    return lines, missed


def sure_table(rows: Rows) -> Table:
    """Table of labels with P ≥ .99, and of wrong labels among the first to relabel."""
    head = "P ≥ .99, right | wrong labels | of these among the first to relabel | by auto"
    lines, missed = [f"| crowds | reference | {head} |", "|---|---|--:|--:|--:|--:|"], []
    for (kind, reference), scores in rows.items():
        sure, right = sum(s.sure_all for s in scores), sum(s.sure_right for s in scores)
        wrong, ours, auto = (sum(getattr(s, name) for s in scores) for name in ("wrong", "relabel", "by_auto"))
        share = right / sure if sure else float("nan")
        relabel = f"{wrong:,} | {ours:,} | {auto:,}" if reference == "auto" else "– | – | –"
        lines.append(f"| {kind} | {reference} | {share:.3f} | {relabel} |")
        if share < LEAST["P ≥ .99 right"]:
            missed.append(f"P ≥ .99 right in {share:.3f} ({kind}, {reference})")
    return lines, missed


if __name__ == "__main__":
    sys.exit(main())

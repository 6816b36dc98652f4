"""Differences between runs: short names, and accuracy along a setting or a property of the crowd.

The papers' sweeps are of this kind: accuracy by strength or proportion of the common noise (CoNAL, Figs. 4 and 6), by
λ (Table 2), by labels per task (CCC, Fig. 4).
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias, TypeVar

import numpy as np

from crowdcore.analysis.recovery.seeds import Band, band
from crowdcore.core.types import FloatArray
from crowdcore.data import simulate
from crowdcore.data.dataset import CrowdDataset
from crowdcore.data.ratings import Labelled
from crowdcore.learning.ratings.result import RatingsResult
from crowdcore.learning.results.result import TrainingResult
from crowdcore.learning.settings import RETIRED

Facts: TypeAlias = Mapping[str, Any]
R = TypeVar("R", bound=TrainingResult | RatingsResult)

_CROWD, _NAME = "crowd: ", "name: "  # prefixes of facts about a simulation, and about numbers in a dataset's name
_COUNTS = ("workers", "labels per task")
_IDENTITY = ("dataset", "fingerprint")


def facts(result: TrainingResult | RatingsResult, dataset: Labelled | None = None) -> dict[str, Any]:
    """Properties of a run: method, settings, and its crowd.

    Args:
        result: the run's result.
        dataset: its dataset; adds the settings of its simulation, and counts.
    """
    settings = {
        name: v for name, v in {**result.training, **result.settings}.items() if RETIRED.get(name, (...,))[0] != v
    }
    properties: dict[str, Any] = {"method": result.method, **_flat(settings)}
    properties |= {"dataset": result.dataset, "fingerprint": result.fingerprint[:8]}
    numbers = re.findall(r"\d+(?:\.\d+)?", result.dataset)
    properties |= {f"{_NAME}number {k}": float(n) for k, n in enumerate(numbers, 1)}
    if dataset is not None:
        simulated = _simulated(dataset) if isinstance(dataset, CrowdDataset) else {}
        properties |= {f"{_CROWD}{key.replace('_', ' ')}": value for key, value in simulated.items()}
        properties["workers"] = dataset.n_workers
        properties["labels per task"] = round(dataset.n_annotations / max(int(dataset.annotated.sum()), 1), 3)
    return properties


def facts_of_runs(results: Sequence[R], crowds: Iterable[Labelled]) -> list[dict[str, Any]]:
    """The `facts` of each run, including those of its crowd if it is one of ``crowds``."""
    by_print = {crowd.fingerprint: crowd for crowd in crowds}
    return [facts(result, by_print.get(result.fingerprint)) for result in results]


def name_runs(results: Sequence[R], given: Sequence[str] = ()) -> dict[str, R]:
    """Runs by their `names`, in order."""
    return dict(zip(names([facts(result) for result in results], given), results, strict=True))


def _simulated(dataset: CrowdDataset) -> dict[str, Any]:
    """The settings of a simulation, and a hash of its tasks if they were given."""
    known = dict(dataset.truth.settings) if dataset.truth is not None else {}
    model = simulate.REGISTRY.get(str(known.get("simulation")))
    if model is not None:
        known = {key: value for key, value in known.items() if key in model.model_fields or key == "simulation"}
    if known and (model is None or not model.makes_tasks):
        content = hashlib.blake2b(dataset.gold.tobytes(), digest_size=3, person=b"tasks")
        known["tasks"] = content.hexdigest()
    return _flat(known)


def _flat(settings: Facts, head: str = "") -> dict[str, Any]:
    """Flatten nested settings to dotted names; lists become texts."""
    flat: dict[str, Any] = {}
    for key, value in settings.items():
        if isinstance(value, Mapping):
            flat |= _flat(value, f"{head}{key}.")
        else:
            flat[head + key] = str(value) if isinstance(value, list | tuple) else value
    return flat


def varying(known: Sequence[Facts]) -> list[str]:
    """Names of the facts in which at least two runs differ, in order."""
    keys = dict.fromkeys(key for one in known for key in one)
    return [key for key in keys if len({_mark(one[key]) for one in known if key in one}) > 1]


def axes(known: Sequence[Facts]) -> list[str]:
    """Facts to draw accuracy along: numbers that vary, those of crowds first; then words that vary."""
    free = [key for key in varying(known) if key not in (*_IDENTITY, "method", f"{_CROWD}seed", f"{_CROWD}tasks")]
    words = [key for key in free if not all(_is_number(one[key]) for one in known if key in one)]
    numbers = [key for key in free if key not in words]
    return sorted(numbers, key=lambda key: not key.startswith(_CROWD)) + words


def names(known: Sequence[Facts], given: Sequence[str] = ()) -> list[str]:
    """A short name for every run: its method, what differs from other runs of it, a number if nothing does.

    Args:
        known: from `facts`, of each run.
        given: names that users gave the runs, "" without; they are used as they are.
    """
    short_names: list[str] = []
    for k, one in enumerate(known):
        if given and given[k]:
            short_names.append(given[k])
            continue
        rivals = [other for other in known if other["method"] == one["method"]]
        differs = [key for key in varying(rivals) if key in one]
        own = [key for key in differs if not _of_crowd(key)]
        own += [key for key in _IDENTITY if key in differs][:1]
        short_names.append(", ".join([str(one["method"]), *(_words(key, one[key]) for key in own)]))
    total, seen = Counter(short_names), Counter[str]()
    for k, name in enumerate(short_names):
        seen[name] += 1
        short_names[k] = f"{name} ({seen[name]})" if total[name] > 1 else name
    return short_names


def along(results: Sequence[R], known: Sequence[Facts], x: str, score: Sequence[FloatArray]) -> list[Band]:
    """A score along a fact: one curve for each method, crowd and combination of the other facts that vary.

    Simulated crowds that differ only in their seed share one point.

    Args:
        results: the runs.
        known: from `facts`, of each run.
        x: the fact on the axis; runs without it are left out.
        score: (S,) of each run.
    """
    varied = [key for key in varying(known) if key != x and not _of_crowd(key) and key != "method"]
    lines: dict[tuple[str, ...], list[int]] = {}
    for k, one in enumerate(known):
        if x in one:
            own = [_words(key, one[key]) for key in varied if key in one]
            lines.setdefault((results[k].method, *own, *_crowd_key(one, x)), []).append(k)
    bands = []
    for words, members in lines.items():
        places = sorted({known[k][x] for k in members}, key=_order)
        values = [_pool_seeds(results, score, [k for k in members if known[k][x] == place]) for place in places]
        rivals = [set(other) for other in lines if other[0] == words[0]]
        differing = [word for word in words[1:] if not all(word in rival for rival in rivals)]
        bands.append(band(", ".join([words[0], *differing]), words[0], places, values))
    return bands


def _pool_seeds(results: Sequence[R], score: Sequence[FloatArray], runs: Sequence[int]) -> FloatArray:
    """The scores of runs in one point; a seed trained twice on the same crowd counts once."""
    levels = {
        (results[k].fingerprint, seed): value
        for k in reversed(runs)
        for seed, value in zip(results[k].seeds, score[k], strict=True)
    }
    return np.array(list(levels.values()))


def _crowd_key(one: Facts, x: str) -> list[str]:
    """Words that are equal for two runs if their crowds belong to one curve along ``x``."""
    simulated = {key: value for key, value in one.items() if key.startswith(_CROWD) and key != f"{_CROWD}seed"}
    if simulated and not x.startswith(_NAME):
        return [_words(key, value) for key, value in simulated.items() if key != x]
    if x.startswith(_NAME) or x in _COUNTS:
        return [re.sub(r"\d+(?:\.\d+)?", "#", str(one["dataset"]))]
    return [str(one["dataset"]), f"data {one['fingerprint']}"]


def _of_crowd(key: str) -> bool:
    return key.startswith((_CROWD, _NAME)) or key in (*_COUNTS, *_IDENTITY)


def _words(key: str, value: object) -> str:
    if key in ("dataset", f"{_CROWD}simulation"):
        return str(value)
    shown = f"{value:g}" if isinstance(value, float) else str(value)
    return f"{in_words(key)} {shown}"


def in_words(key: str) -> str:
    """The name of a fact for readers."""
    if key.startswith(_NAME):
        return f"{key.removeprefix(_NAME)} of the dataset's name"
    return key.removeprefix(_CROWD).replace("_", " ")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _mark(value: Any) -> str:
    return repr(float(value)) if _is_number(value) else repr(value)


def _order(value: Any) -> tuple[bool, float, str]:
    return (not _is_number(value), float(value) if _is_number(value) else 0.0, str(value))

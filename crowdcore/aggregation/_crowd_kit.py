"""crowd-kit's classification aggregators by name, e.g. ``"crowd-kit:GLAD"``; imported only when one is fitted."""

from __future__ import annotations

import ast
import warnings
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from pydantic import ConfigDict

from crowdcore.aggregation.base import AggregationResult, Aggregator
from crowdcore.core.counts import clamp
from crowdcore.core.errors import DataError, SettingError, did_you_mean, need_extra
from crowdcore.core.types import FloatArray, IntArray
from crowdcore.data.dataset import CrowdDataset

PREFIX = "crowd-kit:"


class CrowdKit(Aggregator):
    """A classification aggregator of crowd-kit, run by crowd-kit; settings are those of its constructor.

    The posterior is crowd-kit's ``probas_``, or all mass on its ``labels_`` where it has none. Aggregators that stop
    at worker skills (or whose prediction fails, as Wawa's does under scikit-learn 1.9) are finished by crowd-kit's
    weighted majority vote, as crowd-kit itself does. Known labels reach ``GoldMajorityVote`` only; elsewhere they
    just replace the answers. A start is not used.
    """

    model_config = ConfigDict(frozen=True, extra="allow")

    title: ClassVar[str] = "crowd-kit"
    paper: ClassVar[str] = "Ustalov, Pavlichenko & Tseitlin, JOSS 2024, doi:10.21105/joss.06227"
    class_name: ClassVar[str]

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        if settings:  # checked by crowd-kit, whose import is slow
            self._make()

    def _make(self) -> Any:
        kit = import_module("crowdkit.aggregation")
        settings = self.model_extra or {}
        try:
            return getattr(kit, self.class_name)(**settings)
        except (TypeError, ValueError) as error:
            raise SettingError("settings", f"suit crowd-kit's {self.class_name}", settings, str(error)) from error

    def _fit(self, dataset: CrowdDataset, known: IntArray | None, start: AggregationResult | None) -> AggregationResult:
        model = self._make()
        frame = pd.DataFrame({"task": dataset.task, "worker": dataset.worker, "label": dataset.label})
        given = () if self.class_name != "GoldMajorityVote" else (_true_labels(known),)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model.fit(frame, *given)
                if not hasattr(model, "labels_"):
                    skills = model.skills_
                    model = import_module("crowdkit.aggregation").MajorityVote().fit(frame, skills=skills)
                    model.skills_ = skills
        except Exception as error:
            raise DataError(f"crowd-kit's {self.class_name} failed: {str(error).rstrip('.')}") from error
        posterior = _posterior(model, dataset)
        clamp(posterior, known)
        skills = getattr(model, "skills_", getattr(model, "alphas_", None))
        weight = None if skills is None else skills.reindex(np.arange(dataset.n_workers)).to_numpy(np.float64)
        unused = known is not None and not given
        notes = ("crowd-kit does not learn from known labels; they only replace its answers.",) if unused else ()
        return self.result(
            dataset, posterior, known=known, worker_weight=weight, stopped="crowd-kit's own rule", notes=notes
        )


def _true_labels(known: IntArray | None) -> pd.Series[Any]:
    if known is None or not (known >= 0).any():
        raise DataError("crowd-kit's GoldMajorityVote weighs workers by known labels", "Pass `known`.")
    tasks = np.flatnonzero(known >= 0)
    return pd.Series(known[tasks], index=tasks)


def _posterior(model: Any, dataset: CrowdDataset) -> FloatArray:
    posterior = np.zeros((dataset.n_tasks, dataset.n_classes))
    probas = getattr(model, "probas_", None)
    if probas is None:
        posterior[model.labels_.index, model.labels_.to_numpy(int)] = 1.0
        return posterior
    values = np.maximum(probas.to_numpy(np.float64), 0.0)
    posterior[np.ix_(probas.index, probas.columns)] = values / values.sum(1, keepdims=True)
    return posterior


@cache
def _class_names() -> tuple[str, ...]:
    """Names that crowd-kit's classification folder exports, read from its source: importing it takes seconds."""
    package = find_spec("crowdkit")
    if package is None or not package.submodule_search_locations:
        return ()
    source = Path(package.submodule_search_locations[0]) / "aggregation" / "classification" / "__init__.py"
    for node in ast.parse(source.read_text()).body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__":
            return tuple(ast.literal_eval(node.value))
    return ()


def crowd_kit_names() -> list[str]:
    """Names such as ``"crowd-kit:GLAD"`` that `get` accepts too; empty if crowd-kit is not installed."""
    return [f"{PREFIX}{name}" for name in _class_names()]


@cache
def member(class_name: str) -> type[CrowdKit]:
    """Return the class that runs one of crowd-kit's aggregators.

    Raises:
        MissingExtraError: crowd-kit is not installed.
        SettingError: it has no such aggregator.
    """
    if find_spec("crowdkit") is None:
        raise need_extra(f"The aggregator '{PREFIX}{class_name}'", "crowdkit")
    if class_name not in _class_names():
        known = ", ".join(crowd_kit_names())
        hint = did_you_mean(class_name, _class_names(), say=f"'{PREFIX}{{}}'".format)
        raise SettingError(
            "aggregator",
            "name one that exists",
            f"{PREFIX}{class_name}",
            f"{hint}Known: {known}.",
        )
    about = {
        "name": f"{PREFIX}{class_name}",
        "title": f"{class_name} (crowd-kit)",
        "class_name": class_name,
        "__doc__": CrowdKit.__doc__,
        "__module__": __name__,
        "__annotations__": dict.fromkeys(("name", "title", "class_name"), ClassVar[str]),
    }
    return type(f"CrowdKit{class_name}", (CrowdKit,), about)

"""Language models among judges, and their families, by name."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

import pandas as pd

from crowdcore.core.errors import SettingError
from crowdcore.data.dataset import CrowdDataset
from crowdcore.data.readers._panel import ORDERS

_MAKERS = {
    "Anthropic": "claude|haiku|sonnet|opus",
    "OpenAI": r"gpt|chatgpt|davinci|o[134](?:-mini|-preview|-pro)?$",
    "Google": "gemini|gemma|palm|bard",
    "Meta": "llama",
    "Alibaba": "qwen|qwq",
    "Microsoft": "phi",
    "Mistral": "mistral|mixtral|ministral|magistral",
    "DeepSeek": "deepseek",
    "01.AI": "yi",
    "Cohere": "command|aya",
    "xAI": "grok",
    "NVIDIA": "nemotron",
    "Z.ai": "glm|chatglm",
    "Moonshot": "kimi|moonshot",
    "Amazon": "nova|titan",
    "AI2": "olmo|tulu",
    "TII": "falcon",
    "Databricks": "dbrx",
    "IBM": "granite",
    "Hugging Face": "zephyr|smollm",
    "LMSYS": "vicuna",
}
_KNOWN = {maker: re.compile(rf"(?:^|[^a-z])(?:{words})(?![a-z])") for maker, words in _MAKERS.items()}
_SIZED = re.compile(r"(.+)-(?:nano|mini|tiny|small|medium|large|\d+(?:\.\d+)?b)", re.IGNORECASE)
_PERSON = re.compile(r"^[a-z]+$")  # "claude" or "nova" alone may be a person
_STRANGE = (
    "{} counted as classes beside {}. If they are errors or refusals and no verdicts, read the file with them as "
    "missing: they lower agreement, and stand for no opinion."
)


def _maker(name: str) -> str:
    """Return the maker of a model; if unknown, the name before the size."""
    sized = _SIZED.fullmatch(name)
    return next((m for m, words in _KNOWN.items() if words.search(name.lower())), sized[1] if sized else "")


def is_model(name: str) -> bool:
    """Return whether a worker has the name of a language model."""
    return bool(_maker(name)) and not _PERSON.match(name)


def are_models(names: Iterable[str]) -> bool:
    """Return whether at least half of the workers have names of language models.

    Examples:
        >>> are_models(["gpt-4o", "claude-3-5-haiku", "Qwen2.5-7B-Instruct"]), are_models(["claude", "ann", "phi"])
        (True, False)
        >>> are_models(["kestrel-small", "kestrel-large", "osprey-7b"])
        True
    """
    models = [*map(is_model, map(str, names))]
    return 2 * sum(models) >= len(models) > 0


def model_families(names: Iterable[str], families: Mapping[str, str] | None = None) -> tuple[str, ...]:
    """Return the family of each judge: as given, else its maker, or its name before a size, else its whole name.

    Args:
        names: of the judges, such as ``meta-llama/Llama-3.1-8B-Instruct``.
        families: judge -> family; the name decides for missing judges.

    Raises:
        SettingError: an unknown judge.

    Examples:
        >>> model_families(["gpt-4o", "gpt-4o-mini", "ann"])
        ('OpenAI', 'OpenAI', 'ann')
    """
    called = [str(name) for name in names]
    given = {str(judge): str(family) for judge, family in (families or {}).items()}
    if strange := sorted(given.keys() - {*called}):
        raise SettingError("families", "name judges of the panel", strange[0])
    return tuple(given.get(name) or _maker(name) or name for name in called)


def families_by_column(dataset: CrowdDataset) -> dict[str, str]:
    """Judge -> family, by a column ``family`` or ``provider`` with one value for each judge; empty without one."""
    for column in _columns(dataset, ("family", "provider")):
        judges = column.astype(str).groupby(dataset.worker)
        if column.notna().all() and (judges.nunique() == 1).all():
            return dict(zip(_present(dataset), judges.first(), strict=True))
    return {}


def costs_by_column(dataset: CrowdDataset) -> dict[str, float]:
    """Judge -> mean cost of a verdict, by a column ``cost`` or ``price`` of numbers; empty without one."""
    for column in _columns(dataset, ("cost", "price")):
        if pd.api.types.is_numeric_dtype(column):
            means = column.groupby(dataset.worker).mean()
            if (means >= 0).all() and len(means) == (dataset.labels_per_worker > 0).sum():
                return dict(zip(_present(dataset), map(float, means), strict=True))
    return {}


def _present(dataset: CrowdDataset) -> list[str]:
    """Names of the workers who gave labels, in their order."""
    return [*map(str, dataset.worker_ids[dataset.labels_per_worker > 0])]


def _columns(dataset: CrowdDataset, names: tuple[str, ...]) -> list[pd.Series]:
    extra = pd.DataFrame() if dataset.extra is None else dataset.extra
    return [extra[column].reset_index(drop=True) for column in extra if str(column).lower() in names]


def unknown_verdicts(classes: Iterable[str]) -> tuple[str, ...]:
    """Warn of classes that are no verdicts, if at least two others are words of one scale.

    Examples:
        >>> unknown_verdicts(["fail", "pass"]), len(unknown_verdicts(["fail", "pass", "parse error"]))
        ((), 1)
    """
    names = [str(name) for name in classes]
    for order in ORDERS:
        known = [name for name in names if name.casefold() in map(str.casefold, order)]
        if 1 < len(known) < len(names):
            strange = ", ".join(repr(name) for name in names if name not in known)
            return (_STRANGE.format(strange, " and ".join(map(repr, known))),)
    return ()

"""Which judges are language models, and which of them are kin, from their names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from crowdcore.core.errors import SettingError

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


def _maker(name: str) -> str:
    """Who makes it; of an unknown maker the name before the size."""
    sized = _SIZED.fullmatch(name)
    return next((m for m, words in _KNOWN.items() if words.search(name.lower())), sized[1] if sized else "")


def is_model(name: str) -> bool:
    """Whether a worker is called like a language model."""
    return bool(_maker(name)) and not _PERSON.match(name)


def are_models(names: Iterable[str]) -> bool:
    """Whether at least half of the workers are called like language models.

    Examples:
        >>> are_models(["gpt-4o", "claude-3-5-haiku", "Qwen2.5-7B-Instruct"]), are_models(["claude", "ann", "phi"])
        (True, False)
        >>> are_models(["kestrel-small", "kestrel-large", "osprey-7b"])
        True
    """
    told = [*map(is_model, map(str, names))]
    return 2 * sum(told) >= len(told) > 0


def model_families(names: Iterable[str], families: Mapping[str, str] | None = None) -> tuple[str, ...]:
    """The family of each judge: as given, else its maker, or its name before a size, else its own.

    Args:
        names: of the judges, such as ``meta-llama/Llama-3.1-8B-Instruct``.
        families: judge -> family; of judges that are missing the name decides.

    Raises:
        SettingError: a judge is named who is none.

    Examples:
        >>> model_families(["gpt-4o", "gpt-4o-mini", "ann"])
        ('OpenAI', 'OpenAI', 'ann')
    """
    called = [str(name) for name in names]
    given = {str(judge): str(family) for judge, family in (families or {}).items()}
    if strange := sorted(given.keys() - {*called}):
        raise SettingError("families", "name judges of the panel", strange[0])
    return tuple(given.get(name) or _maker(name) or name for name in called)

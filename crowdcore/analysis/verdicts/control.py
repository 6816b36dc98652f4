"""How the errors of verdicts on workers are controlled, in words."""

from __future__ import annotations

from crowdcore.data.dataset import CrowdDataset

_CONTROL = (
    "The probability that any honest worker is flagged as guessing, drifting, copying or acting with others is at "
    "most {level:g} in total. Of the confusions to train on, at most a share of {level:g} is false on average "
    "(Benjamini–Hochberg)."
)
_OF_TOKENS = (
    "The tests, at {level:g}, count tokens as independent, though those of a sentence are not: take verdicts and "
    "intervals as hints. For the same reason, coordination is not tested."
)


def control_in_words(dataset: CrowdDataset, level: float) -> str:
    """What the level bounds; of a crowd that tags tokens, that it bounds nothing."""
    return (_CONTROL if dataset.sentences is None else _OF_TOKENS).format(level=level)

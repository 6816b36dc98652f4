"""Spans that trained taggers find in the sentences of the test split."""

from __future__ import annotations

import pandas as pd

from crowdcore.core.errors import DataError
from crowdcore.exhibits.comparison import Results
from crowdcore.exhibits.exhibit import Exhibit
from crowdcore.learning.comparison.summary import EPOCHS, deviation
from crowdcore.learning.results.tagged import found_spans as judged


def found_spans(results: Results) -> Exhibit | None:
    """Precision, recall and F1 of test spans, in per cent; None where no result tags sentences with gold."""
    rows = []
    for name, result in results.items():
        for at in EPOCHS:
            try:
                found = 100 * judged(result, "test", at)[["precision", "recall", "f1", "token_accuracy"]]
            except DataError:
                continue
            row: dict[str, object] = {"run": name, "epoch": at}
            for measure, words in _WORDS.items():
                row |= {f"{words} %": found[measure].mean(), f"{words} ±": deviation(found[measure].to_numpy())}
            rows.append({**row, "seeds": len(result.seeds)})
    if not rows:
        return None
    notes = (
        "A span counts where all its tokens and its type are right (as seqeval counts). Accuracy is the share of right "
        "tokens; it says less, as most tokens are outside of any span.",
    )
    table = pd.DataFrame(rows).dropna(axis=1, how="all")
    return Exhibit("found-spans", "Spans of the test split", None, table, notes)


_WORDS = {"precision": "precision", "recall": "recall", "f1": "F1", "token_accuracy": "accuracy"}

"""Columns of the tables of tags and of ratings, and what they mean."""

from __future__ import annotations

__all__ = ["RATINGS", "SPANS"]

_KINDS = ("missed", "boundary", "type")

SPANS = {
    "tagged by": "Who tagged the sentence: a worker, or the reference.",
    "word": "The token, where tasks are the tokens of sentences.",
    "context": "The words around the token, which is in brackets.",
    "tokens as gold": "Tokens whose tag is that of the reference.",
    "sentences": "Sentences that the worker tagged.",
    "type": "The type of the spans; as a count: right at both ends, but of another type.",
    "precision": "Share of the given spans that are true ones, at both ends and by type.",
    "recall": "Share of the true spans that were found, at both ends and by type.",
    "f1": "Harmonic mean of precision and recall.",
    "F1 of spans": "Harmonic mean of precision and recall of the spans that a tagger finds on test.",
    "F1 of spans last": "The same at the last epoch.",
    "true_spans": "True spans in the sentences that the worker tagged.",
    "given_spans": "Spans that the worker gave.",
    "exact": "True spans that were found, at both ends and by type.",
    "boundary": "True spans that were found by type, but with another beginning or end.",
    "both": "True spans that were found with another type and another beginning or end.",
    "missed": "True spans that no span of the worker overlaps.",
    "spurious": "Spans of the worker that overlap no true one.",
    "inside_tags": "Tags I- that the worker gave.",
    "invalid_tags": "Tags I- that follow O, another type or the beginning of a sentence.",
    "starts early": "The worker's span begins before the true one.",
    "starts late": "The worker's span begins after the true one.",
    "ends early": "The worker's span ends before the true one.",
    "ends late": "The worker's span ends after the true one.",
    "both ends differ": "Neither the beginning nor the end is that of the true span.",
    "(nothing)": "The worker marked nothing there.",
    "missed %": "True spans that no span of the worker overlaps, by gold.",
    "boundary %": "True spans that the worker's span begins or ends otherwise, by gold.",
    "type %": "True spans that the worker's span gives another type, by gold.",
    **{f"{kind} %, recovered": f"{kind.capitalize()} %, by an aggregator's tags." for kind in _KINDS},
    **{
        f"{kind} error": f"Error of the workers' {kind} % by the aggregator's tags, root mean square."
        for kind in _KINDS
    },
    "crowd confusion error": "Squared distance of the crowd's confusion to that by gold, mean over the true tags.",
    "own confusion error": "Squared distance of a worker's confusion to that by gold, mean over true tags and workers.",
}
RATINGS = {
    "measure": "What is measured.",
    "ratings": "How many ratings were given.",
    "truth from": "Lower end of the part of the range that the row is about.",
    "truth to": "Upper end of the part of the range that the row is about.",
    "bias": "Mean of ratings minus the truth: above 0 overrates.",
    "smooth": "The bias by a smooth curve over the range of the truth.",
    "effective workers": "As many workers of equal work would say as much.",
    "same sign": "Share of the workers whose own mean error has the sign of all.",
    "p value": "Probability of at least as much if there were nothing.",
    "q value": "The p-value, corrected for the number of rows tested.",
    "spread": "Standard deviation of the worker's errors.",
    "scale": "By how much a rating rises when the truth rises by one.",
    "correlation": "Correlation of the worker's ratings with the truth.",
    "error correlation": "Correlation of the two workers' errors on the tasks that both rated.",
    "kappa": "Agreement of the two beyond chance, weighted by how far apart their ratings are.",
    "mae": "Mean absolute error.",
    "rmse": "Root of the mean squared error.",
    "role": "What was planted in the worker besides ordinary errors.",
    "planted bias": "How far the planted line lies above the truth: in the middle of a range, or over the tasks rated.",
    "planted scale": "Slope of the worker's planted line on the truth.",
    "planted noise": "Standard deviation of the worker's ratings around the planted line.",
    "errs like": "The worker whose errors are most correlated with this one's.",
    "truth error": "Root mean squared error of the recovered true ratings.",
    "bias error": "Root mean squared difference of recovered and planted biases over the workers.",
    "own bias error": "The same without the mean over the workers: what sets workers apart.",
    "shared bias error": "Root mean squared difference of recovered and planted shared bias over the range.",
    "scale error": "Root mean squared difference of recovered and planted scales over the workers.",
    "RMSE mean": "Mean RMSE over seeds, in the unit of the ratings.",
    "RMSE std": "Standard deviation of the RMSE over seeds.",
    "RMSE difference": "RMSE of the first minus that of the second, in the unit of the ratings.",
    "R²": "Share of the variance of the truth that is explained.",
}

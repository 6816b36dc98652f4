"""`crowdcore spans`: spans of the workers of a crowd that tags tokens."""

from __future__ import annotations

from crowdcore.cli._options import Accept, DatasetName, Figure, HideNames, Json, Out, Read, ReferenceName
from crowdcore.cli._output import print_json, print_table, save_exhibit
from crowdcore.cli._runs import open_view


def spans(
    dataset: DatasetName,
    reference: ReferenceName = "",
    hide_names: HideNames = False,
    json: Json = False,
    out: Out = None,
    figure: Figure = None,
    read: Read = None,
    accept: Accept = False,
) -> None:
    """Who finds the spans: precision, recall, F1, kinds of errors, types taken for others, shared boundary errors."""
    from crowdcore import exhibits

    seen = open_view(dataset, reference, hide_names, read=read, accept=accept)
    ds = seen.dataset
    made = exhibits.spans
    scores = made.span_scores(seen)
    types, boundaries = made.span_types(seen), made.span_boundaries(seen)
    save_exhibit(scores, out, figure)
    if json:
        parts = {"workers": scores.table, "types": types.table, "boundaries": boundaries.table}
        print_json({"dataset": ds.name, "reference": seen.reference, **parts})
        return
    shown = ["worker", "sentences", "precision", "recall", "f1", "f1_low", "f1_high", "invalid_tags"]
    print_table(scores.table[shown], f"{ds.name}: spans (reference: {seen.reference})", scores.notes, limit=60)
    errors = made.span_errors(seen)
    print_table(errors.table, errors.title, errors.notes, limit=60)
    wrong = types.table[types.table["true"] != types.table["given"]].sort_values("percent", ascending=False)
    print_table(wrong[["true", "given", "percent", "workers", "annotations"]], types.title, limit=15)
    print_table(boundaries.table, boundaries.title, boundaries.notes)

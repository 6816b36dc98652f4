"""Shared mistakes behind a run's labels, by class, and whether ω finds these labels."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from crowdcore import analysis, figures
from crowdcore.analysis import OmegaUse
from crowdcore.exhibits.confusions import confusions
from crowdcore.exhibits.exhibit import Exhibit, escaped
from crowdcore.exhibits.recovered import RunView, observed, shared
from crowdcore.exhibits.view import cached


@cached
def shared_part(view: RunView) -> Exhibit | None:
    """Share of each class's labels that the shared mistake explains, beside the common confusion.

    The common confusion is the method's own, or else one that its counts are split into; None at epochs without stored
    predictions. A click chooses the cell.
    """
    shares = shared(view)
    if shares is None:
        return None
    learnt = confusions(view, view).common
    own = learnt[0] if learnt is not None and len(learnt) == 1 else None
    off = ~np.eye(len(view.classes), dtype=bool)
    share, beside = (np.where(off, m, np.nan) for m in (shares.share, shares.common if own is None else own))
    figure = figures.confusion(
        [share, beside],
        [escaped(c) for c in view.classes],
        names=["shared part ω̄ π<sup>g</sup>", "common confusion π<sup>g</sup>"],
        spread=None if len(shares.seeds) == 1 else [shares.spread, np.full_like(share, np.nan)],
        title="Shared mistakes",
        subtitle=escaped(f"{view.run_name}, {shares.combined}; right labels are left out"),
    )
    table = shares.frame()
    true, given = (table[column].map(view.classes.index).to_numpy() for column in ("true", "given"))
    if own is not None:
        table["common"] = own[true, given]
    table["observed share"] = observed(view).crowd[true, given]
    notes = (
        "Shared part: the share of the labels on a class that are this label because of the confusion that all workers "
        "share, with a 95 % interval over seeds and labels. Labels determine this product; the common confusion alone "
        "only as far as workers differ in how much of it they have.",
    )
    alt = "Shared part and common confusion: true classes downwards, given labels to the right"
    return Exhibit("shared-part", "Shared mistakes", figure, table, notes, alt, view.clicked)


@cached
def explained(view: RunView, *, dark: bool = False) -> tuple[Exhibit, ...]:
    """Mistakes in the labels beside the part that a run takes for shared, and the rest."""
    part, shares = shared_part(view), shared(view)
    if part is None or shares is None:
        return ()
    off = ~np.eye(len(view.classes), dtype=bool)
    both = [np.where(off, m, np.nan) for m in (observed(view).crowd, shares.share)]
    classes, top = [escaped(c) for c in view.classes], float(np.nanmax(both))
    words = ("In the labels", f"share of each class · reference: {view.reference}"), ("Shared part", view.run_name)
    drawn = [
        figures.confusion(m, classes, scale_max=top, title=title, subtitle=escaped(about))
        for m, (title, about) in zip(both, words, strict=True)
    ]
    left = "Difference", "in the labels − shared part"
    drawn.append(figures.confusion(both, classes, difference="only", dark=dark, title=left[0], subtitle=left[1]))
    return tuple(
        replace(part, name=f"explained-{k}", title=title, figure=figure, alt=f"{title}: true classes downwards")
        for k, (figure, (title, _)) in enumerate(zip(drawn, (*words, left), strict=True))
    )


@cached
def omega_use(view: RunView) -> OmegaUse:
    """Relation of ω to labels that are right, wrong as others, and wrong alone."""
    one, part = view.shown_seed, shared(view)
    omega = view.omega.mean(0) if one is None else view.omega[view.result.seeds.index(one)]
    return analysis.omega_use(view.dataset, omega, view.truth, None if part is None else part.mistake)


def omega_labels(view: RunView) -> Exhibit:
    """ω, and the probability of a shared mistake, of labels that are right, wrong as others, and wrong alone."""
    use = omega_use(view)
    notes = [use.sentence] if use.sentence else []
    for what, r in (("ω", use.omega_correlation), ("The probability of a shared mistake", use.mistake_correlation)):
        if r == r:
            notes.append(f"{what} correlates with being wrong as another worker is by {r:z.2f}.")
    if use.wrong_correlation == use.wrong_correlation:
        notes.append(f"Among wrong labels, ω correlates with it by {use.wrong_correlation:z.2f}.")
    return Exhibit("omega-labels", "ω of right and of wrong labels", None, use.frame(), tuple(notes))

"""Which aggregators recover what was planted in ratings and tags: no training, so the answer stands at once."""

import streamlit as st

from crowdcore import exhibits
from crowdcore.data import RatingDataset
from crowdcore.data.ratings import Labelled
from crowdcore.exhibits import Exhibit, planted
from dashboard import state
from dashboard.components.exhibit import show
from dashboard.components.table import table
from dashboard.components.text import as_text

ALL = "all workers"


def aggregators(crowd: Labelled) -> None:
    """Errors of aggregators, and what one of them finds beside what was planted."""
    if isinstance(crowd, RatingDataset):
        st.header("Which aggregators recover it")
        _errors(planted.rating_recovery(crowd))
        by = _by(planted.RATING_FITS, "raykar-em gold=20%")
        grid = st.grid(2, min_column_width=420, gap="medium")
        found = planted.recovered_biases(crowd, by)
        with grid.cell():
            show(found, "biases", file=f"{crowd.name}-biases", notes=False)
        with grid.cell():
            show(planted.recovered_shared_bias(crowd, by), "shared-bias", file=f"{crowd.name}-shared-bias")
        table(found.table, "workers", name=f"{crowd.name}-workers", noun="worker")
        st.caption(as_text(found.notes[0]))
    elif crowd.sentences is not None:
        st.header("Which aggregators recover it")
        view = exhibits.view(crowd)
        _errors(planted.tag_recovery(view))
        workers = [ALL, *map(str, crowd.worker_ids[crowd.labels_per_worker > 0])]
        with st.container(horizontal=True):
            by = _by(planted.TAG_FITS, "bsc-seq")
            whose = state.one_of("whose", workers) or ALL
            st.selectbox("Tags of", workers, width=200, **state.bind("whose", whose))
        show(planted.recovered_tags(view, by, "" if whose == ALL else whose), "tags", file=f"{crowd.name}-tags")
        st.subheader("Share of true spans, by kind of error")
        found = planted.recovered_errors(view, by)
        table(found.table, "kinds", name=f"{crowd.name}-kinds", noun="worker")


def _errors(found: Exhibit) -> None:
    show(found, "aggregators", file=found.name, notes=False)
    table(found.table, "aggregators-table", name=found.name, noun="aggregator")
    for note in found.notes:
        st.caption(as_text(note))


def _by(compared: tuple[str, ...], usual: str) -> str:
    """Whose truth stands in the place of the true one."""
    by = state.one_of("by", compared) or usual
    st.selectbox("As recovered by", compared, width=260, **state.bind("by", by))
    return by

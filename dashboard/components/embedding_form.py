"""Features for a dataset that has texts or images only: how, how long, and what would be left out."""

from __future__ import annotations

import streamlit as st

from crowdcore.core.errors import CrowdError
from crowdcore.data.media import UnusableError
from crowdcore.learning.embedding import sentence_models
from dashboard import state
from dashboard.components.guard import without_server_paths
from dashboard.components.text import as_text, duration, listed
from dashboard.services import embedding


def embedding_form(noun: str) -> None:
    """Offer to make features of ``noun``, such as "300 images"."""
    dataset = state.get("dataset")
    st.markdown(f"A classifier can learn from the **{noun}** once they are prepared.")
    kinds = embedding.embedding_kinds(dataset)
    kind = kinds[0]
    if kinds == ["pixels"]:
        st.caption("A pretrained network does far better on few images: pip install 'crowdcore[images]'")
    if len(kinds) > 1:
        kind = st.selectbox("How", kinds, format_func=embedding.KIND_TITLES.__getitem__, key=f"embed-{dataset}")
    models = sentence_models() if kind == "sentences" else []
    model = models[0] if models else ""
    if len(models) > 1:
        model = st.selectbox("Model", models, key=f"embed-model-{dataset}")
    refused = st.session_state.get("embed-refused", ("", "", False))
    with st.container(horizontal=True, vertical_alignment="center"):
        if st.button(f"Prepare {noun}", type="primary", icon=":material/build:"):
            _make(dataset, kind, False, model)
        seconds = embedding.embedding_seconds(dataset, kind, model)
        about = "" if seconds is None else f"About **{duration(seconds)}**. "
        st.caption(f"{about}{embedding.KIND_TITLES[kind]}.", width="stretch")
    if refused[0] == dataset:
        st.error(refused[1], icon=":material/broken_image:")
        if refused[2] and st.button("Leave these tasks out and go on", icon=":material/content_cut:"):
            _make(dataset, kind, True, model)


def _make(dataset: str, kind: str, accept: bool, model: str) -> None:
    try:
        with st.spinner("Preparing …"):
            opened = embedding.embed(dataset, kind, accept, model)
    except UnusableError as refusal:
        words = listed(refusal.what, refusal.faults, refusal.advice)
        st.session_state["embed-refused"] = (dataset, without_server_paths(words), bool(refusal.remedies))
    except CrowdError as refusal:
        st.session_state["embed-refused"] = (dataset, as_text(without_server_paths(str(refusal))), False)
    else:
        st.session_state.pop("embed-refused", None)
        state.put(dataset=opened)
    st.rerun()

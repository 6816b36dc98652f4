"""What Streamlit alone looks like to axe-core: its widgets, without anything of ours."""

import pandas as pd
import plotly.graph_objects as go
import streamlit as st


def page() -> None:
    """One of every kind of element that the dashboard uses."""
    st.title("Title")
    st.header("Header")
    st.dataframe(pd.DataFrame({"a": [1, 2]}), on_select="rerun", selection_mode="multi-row")
    st.markdown("Words")
    st.sidebar.selectbox("In the sidebar", ["one", "two"])
    st.selectbox("One", ["one", "two"])
    st.multiselect("Several", ["one", "two"], default=["one"])
    st.pills("Pills", ["one", "two"], selection_mode="multi", default=["one"])
    st.segmented_control("Segments", ["one", "two"], default="one")
    st.toggle("Toggle", help="Help")
    st.text_input("Text")
    st.number_input("Number", value=1)
    st.slider("Slider")
    st.file_uploader("File")
    st.pagination(9)
    st.button("Button", type="primary")
    st.download_button("Download", b"")
    st.metric("Metric", 1, help="Help")
    st.warning("Warning")
    st.code("code")
    st.plotly_chart(go.Figure(go.Scatter(x=[1, 2], y=[1, 2])), alt="A line")
    with st.expander("Expander"):
        st.markdown("Words")
    for tab in st.tabs(["First", "Second"]):
        tab.markdown("Words")


st.navigation(
    [st.Page(page, title="Plain", default=True), st.Page(lambda: None, title="Other", url_path="other")]
).run()

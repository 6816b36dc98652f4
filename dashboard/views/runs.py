"""The former address of the table of runs, which is a part of the page that trains them."""

import runpy
from pathlib import Path

import streamlit as st

if "methods" in st.query_params:  # of the table's filter, which has the word for itself no more
    st.query_params["method"] = st.query_params.get_all("methods")
    del st.query_params["methods"]
runpy.run_path(str(Path(__file__).with_name("train.py")))

"""The app: `streamlit run dashboard/app.py -- labelme`."""

import contextlib
import sys
from functools import partial
from pathlib import Path

import streamlit as st

HERE = Path(__file__).parent
if "dashboard" not in sys.modules:  # this folder, also where the user's own has a dashboard.py
    sys.path.insert(0, str(HERE.parent))

from dashboard.components.frame import admitted  # noqa: E402
from dashboard.components.guard import make_live  # noqa: E402
from dashboard.pages import FOUND, PATHS, TITLES  # noqa: E402

st.set_page_config(page_title="crowdcore", page_icon=(HERE / "icon.svg").read_text(), layout="wide")
st.logo((HERE / "logo.svg").read_text(), icon_image=(HERE / "icon.svg").read_text(), size="large")
st.html(HERE / "style.css")
make_live()
if not admitted():
    st.stop()
warm = st.empty()
if "page" not in st.session_state:  # never seen: the browser fetches its chart code while the server imports ours
    # While another session imports pandas or NumPy, Plotly sees half of it.
    with warm.container(key="warm"), contextlib.suppress(AttributeError):
        st.plotly_chart([{"type": "scatter"}])
pages = [st.Page("views/overview.py", title=TITLES["overview"], url_path="home", default=True)]
pages += [st.Page(f"views/{page}.py", title=title, url_path=PATHS.get(page, page)) for page, title in TITLES.items()]
at = {page.url_path: page for page in pages}


def moved(there: str) -> None:
    """Lead from a title or a former address to its page, as `dashboard.server` does before the page is loaded."""
    st.switch_page(at[there], query_params={key: st.query_params.get_all(key) for key in st.query_params})


pages += [
    st.Page(partial(moved, there), title=name, url_path=name)
    for name, there in FOUND.items()
    if name not in {*at, "home"}
]
st.navigation(pages, position="hidden").run()

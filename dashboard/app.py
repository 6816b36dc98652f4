"""The app: `streamlit run dashboard/app.py -- labelme`.

Streamlit imports this file once for its server, and runs it as `__main__` whenever a page is drawn.
"""

import contextlib
import sys
from pathlib import Path

import streamlit as st

HERE = Path(__file__).parent
if "dashboard" not in sys.modules:  # this folder, also where the user's own has a dashboard.py
    sys.path.insert(0, str(HERE.parent))


def draw() -> None:
    """Draw the page of the address, for those who are let in."""
    from dashboard.components.frame import admitted
    from dashboard.components.guard import make_live
    from dashboard.pages import PATHS, TITLES

    st.set_page_config(page_title="crowdcore", page_icon=(HERE / "icon.svg").read_text(), layout="wide")
    st.logo((HERE / "logo.svg").read_text(), icon_image=(HERE / "icon.svg").read_text(), size="large")
    st.html(HERE / "style.css")
    make_live()
    if not admitted():
        return
    warm = st.empty()
    if "page" not in st.session_state:  # never seen: the browser fetches its chart code while the server imports ours
        # While another session imports pandas or NumPy, Plotly sees half of it.
        with warm.container(key="warm"), contextlib.suppress(AttributeError):
            st.plotly_chart([{"type": "scatter"}])
    pages = [st.Page("views/overview.py", title=TITLES["overview"], url_path="home", default=True)]
    pages += [
        st.Page(f"views/{page}.py", title=title, url_path=PATHS.get(page, page)) for page, title in TITLES.items()
    ]
    st.navigation(pages, position="hidden").run()


if __name__ == "__main__":
    draw()
else:
    from dashboard.server import server_options

    app = st.App(__file__, **server_options())

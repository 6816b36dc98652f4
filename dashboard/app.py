"""The app: `streamlit run dashboard/app.py -- labelme`."""

import sys
from pathlib import Path

import streamlit as st

HERE = Path(__file__).parent
if "dashboard" not in sys.modules:  # this folder, also where the user's own has a dashboard.py
    sys.path.insert(0, str(HERE.parent))

from dashboard.components.live import make_live  # noqa: E402
from dashboard.components.sign_in import admitted  # noqa: E402

st.set_page_config(page_title="crowdcore", page_icon=(HERE / "icon.svg").read_text(), layout="wide")
st.logo((HERE / "logo.svg").read_text(), icon_image=(HERE / "icon.svg").read_text(), size="large")
st.html(HERE / "style.css")
make_live()
if not admitted():
    st.stop()
warm = st.empty()
if "page" not in st.session_state:  # never seen: the browser fetches its chart code while the server imports ours
    with warm.container(key="warm"):
        st.plotly_chart([{"type": "scatter"}])
st.navigation(
    {
        "Data": [
            st.Page("views/overview.py", title="Overview", icon=":material/fact_check:", url_path="overview"),
            st.Page("views/data.py", title="Data", icon=":material/database:", default=True),
            st.Page("views/spans.py", title="Spans", icon=":material/format_ink_highlighter:", url_path="spans"),
            st.Page("views/ratings.py", title="Ratings", icon=":material/star_half:", url_path="ratings"),
        ],
        "Crowd": [
            st.Page(
                "views/mistakes.py", title="Shared mistakes", icon=":material/grid_on:", url_path="shared-mistakes"
            ),
            st.Page("views/annotators.py", title="Annotators", icon=":material/groups:", url_path="annotators"),
            st.Page("views/rounds.py", title="Two rounds", icon=":material/compare_arrows:", url_path="rounds"),
            st.Page("views/check.py", title="Check", icon=":material/rule:", url_path="check"),
        ],
        "Truth": [
            st.Page("views/aggregate.py", title="Aggregate", icon=":material/how_to_vote:", url_path="aggregate"),
            st.Page("views/tasks.py", title="Tasks", icon=":material/list_alt:", url_path="tasks"),
            st.Page("views/review.py", title="Review", icon=":material/rate_review:", url_path="review"),
            st.Page("views/next.py", title="Next labels", icon=":material/forward:", url_path="next"),
        ],
        "Learning": [
            st.Page("views/train.py", title="Train", icon=":material/model_training:", url_path="train"),
            st.Page("views/runs.py", title="Runs", icon=":material/table_rows:", url_path="runs"),
            st.Page("views/compare.py", title="Compare", icon=":material/leaderboard:", url_path="compare"),
            st.Page("views/confusions.py", title="Confusions", icon=":material/apps:", url_path="confusions"),
            st.Page("views/omega.py", title="Noise source ω", icon=":material/scatter_plot:", url_path="omega"),
        ],
        "Report": [
            st.Page("views/report.py", title="Report", icon=":material/summarize:", url_path="report"),
            st.Page("views/reproduction.py", title="Reproduction", icon=":material/replay:", url_path="reproduction"),
            st.Page("views/sandbox.py", title="Sandbox", icon=":material/potted_plant:", url_path="sandbox"),
            st.Page("views/glossary.py", title="Glossary", icon=":material/menu_book:", url_path="glossary"),
        ],
    },
    expanded=True,
).run()

"""The pages: their sections in the menu, titles and icons."""

from __future__ import annotations

from collections.abc import Mapping

SECTIONS: Mapping[str, Mapping[str, tuple[str, str]]] = {
    "Data": {
        "overview": ("Overview", "fact_check"),
        "data": ("Data", "database"),
        "spans": ("Spans", "format_ink_highlighter"),
        "ratings": ("Ratings", "star_half"),
    },
    "Crowd": {
        "mistakes": ("Shared mistakes", "grid_on"),
        "annotators": ("Annotators", "groups"),
        "rounds": ("Two rounds", "compare_arrows"),
        "check": ("Check", "rule"),
    },
    "Truth": {
        "aggregate": ("Aggregate", "how_to_vote"),
        "tasks": ("Tasks", "list_alt"),
        "review": ("Review", "rate_review"),
        "next": ("Next labels", "forward"),
    },
    "Learning": {
        "train": ("Train", "model_training"),
        "runs": ("Runs", "table_rows"),
        "compare": ("Compare", "leaderboard"),
        "confusions": ("Confusions", "apps"),
        "omega": ("Noise source ω", "scatter_plot"),
    },
    "Report": {
        "report": ("Report", "summarize"),
        "reproduction": ("Reproduction", "replay"),
        "sandbox": ("Sandbox", "potted_plant"),
        "glossary": ("Glossary", "menu_book"),
    },
}
PATHS = {"mistakes": "shared-mistakes"}
"""Addresses that are not the page's name."""
ICONS = {name: icon for section in SECTIONS.values() for name, (_, icon) in section.items()}
TITLES = {name: title for section in SECTIONS.values() for name, (title, _) in section.items()}

"""Results to report on, and the page as a browser reads it."""

from __future__ import annotations

from html.parser import HTMLParser

from crowdcore.runs.report import Trained
from tests.learning.made_up import made_up


def trained(dataset, *methods):
    return [Trained(f"{k}" * 32, made_up(dataset, m), f"crowdcore train x --method {m}") for k, m in enumerate(methods)]


class Page(HTMLParser):
    """Tags, scripts and visible text of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self.text: list[str] = []
        self.inside = ""
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self.inside = tag
        if tag == "script":
            self.scripts.append("")

    def handle_endtag(self, tag):
        self.inside = ""

    def handle_data(self, data):
        if self.inside == "script":
            self.scripts[-1] += data
        elif self.inside != "style":
            self.text.append(data)

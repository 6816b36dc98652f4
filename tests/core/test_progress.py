"""A bar where somebody looks on, and not a letter elsewhere."""

from __future__ import annotations

import io
import sys
import time

import pytest

from crowdcore.core.shown import progress


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("screen", [Screen(), io.StringIO()], ids=["terminal", "file"])
def test_a_bar_is_for_terminals(screen: io.StringIO, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", screen)
    with progress() as tell:
        for epoch in (1, 2):
            time.sleep(0.15)  # tqdm writes ten times a second at most
            tell(epoch / 2, f"conal, epoch {epoch} of 2")
    said = screen.getvalue()
    assert ("epoch 2 of 2" in said and "100 %" in said) == screen.isatty()
    assert said == "" or screen.isatty()


def test_training_shows_its_epochs(monkeypatch: pytest.MonkeyPatch) -> None:
    learning = pytest.importorskip("crowdcore.learning")
    screen = Screen()
    monkeypatch.setattr(sys, "stderr", screen)
    learning.train("demo", "dl-mv", seeds=1, epochs=2, device="cpu")
    assert "dl-mv, epoch" in screen.getvalue()
    at = len(screen.getvalue())
    learning.train("demo", "dl-mv", seeds=1, epochs=2, device="cpu", on_event=lambda event: None)
    assert len(screen.getvalue()) == at

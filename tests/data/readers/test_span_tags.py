"""Spans of characters as tags of tokens, whatever the spans."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, strategies as st

from crowdcore.data.readers import _tokens as _spans
from crowdcore.data.readers._tokens import Span, Text, tag
from crowdcore.data.tags import TagScheme, find_spans


def test_chinese_characters_are_tokens_of_their_own():
    text = Text.of("我爱北京 and cafe\u0301s!")
    assert text.words() == ["我", "爱", "北", "京", "and", "cafe\u0301s", "!"]
    types = {}
    assert tag(text, [Span(2, 4, "LOC")], types).tags == [0, 0, 1, 2, 0, 0, 0]


@st.composite
def marked_texts(draw):
    """A text of words, and spans of whole words that do not overlap."""
    words = draw(st.lists(st.text("abcß\u0301北\U0001d4b3", min_size=1, max_size=4), min_size=1, max_size=12))
    text = Text.of(draw(st.sampled_from([" ", "  ", " \n"])).join(words))
    free, spans = 0, []
    while free < len(text) and draw(st.booleans()):
        first = draw(st.integers(free, len(text) - 1))
        last = draw(st.integers(first, len(text) - 1))
        spans.append((first, last + 1, draw(st.sampled_from("xyz"))))
        free = last + 1
    return text, spans


@given(marked_texts())
def test_tags_say_the_spans_they_were_made_of(drawn):
    text, spans = drawn
    types = {}
    marked = tag(text, [Span(text.start[a], text.end[b - 1], kind, None) for a, b, kind in spans], types)
    assert not marked.faults
    types.setdefault("x", len(types))
    scheme = TagScheme.of(("O", *(f"{part}-{kind}" for kind in types for part in "BI")))
    found = find_spans(np.array(marked.tags), np.arange(len(text)) == 0, scheme)
    assert [*zip(found.start, found.end, (scheme.types[k] for k in found.type), strict=True)] == spans


ANY = st.one_of(st.integers(-3, 12), st.none(), st.text(max_size=3), st.floats(), st.lists(st.integers(), max_size=2))


@given(st.text(max_size=10), st.lists(st.tuples(ANY, ANY, ANY, st.none() | st.text(max_size=4)), max_size=5))
def test_whatever_the_offsets_every_span_is_tagged_or_told(words, spans):
    text, types = Text.of(words), {}
    marked = tag(text, [Span(*span) for span in spans], types)
    assert len(marked.tags) == len(text)
    assert sum(lost for _, lost in marked.faults) == marked.tags.count(-1)
    begun = sum(t > 0 and t % 2 for t in marked.tags)
    assert begun + len(marked.faults) + marked.notes.get("span-twice", 0) == len(spans)


@st.composite
def spans_near_tokens(draw):
    """A text, maybe with tokens that a tool says, and spans of which most begin and end with a token."""
    text = Text.of(draw(st.text("ab \u0301北.", max_size=12)))
    if draw(st.booleans()) and text.text:
        edges = sorted(draw(st.sets(st.integers(0, len(text.text)), max_size=8)))
        text = Text.of(text.text, [*pairwise(edges)])  # such tokens may hold blanks
    begins, ends = ((*part, 0) for part in (text.start, text.end))
    near = st.sampled_from([*begins, *ends]) | st.integers(-1, 13) | st.booleans()
    said = st.none() | st.text("ab ", max_size=3) | st.just(...)
    label = st.sampled_from(["x", " x", "y", "e\u0301", "\u00e9", "", 1])
    spans = [Span(*span) for span in draw(st.lists(st.tuples(near, near, label, said), max_size=4))]
    return text, [s._replace(text=text.text[s.start : s.end]) if s.text is ... else s for s in spans]


@given(spans_near_tokens())
def test_spans_in_order_are_tagged_as_any_others(drawn):
    text, spans = drawn
    kinds, others = {}, {}
    found = tag(text, spans, kinds)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_spans, "_tags_in_order", lambda *_: None)
        other = tag(text, spans, others)
    name = dict(enumerate(kinds))
    assert [(t % 2, name[(t - 1) // 2]) if t > 0 else t for t in found.tags] == [
        (t % 2, [*others][(t - 1) // 2]) if t > 0 else t for t in other.tags
    ]
    assert (found.faults, found.notes, kinds.keys()) == (other.faults, other.notes, others.keys())

"""Files of one's own that are no classes: spans of a tool, and ratings."""

from __future__ import annotations

import json
import re

from playwright.sync_api import Page, expect

from testkit.steps import main, open_page, settled, visit

TEXTS = ("Ann met Bob in New York.", "Rome is far from Paris.")
MARKED = {  # of each worker, in each text
    "ann": ([(0, 3, "PER"), (8, 11, "PER"), (15, 23, "LOC")], [(0, 4, "LOC"), (17, 22, "LOC")]),
    "ben": ([(0, 3, "PER"), (9, 11, "PER"), (15, 23, "LOC")], [(0, 4, "LOC"), (17, 22, "LOC")]),
    "cem": ([(0, 3, "PER"), (19, 23, "LOC")], [(0, 4, "LOC"), (17, 22, "PER")]),
}


def offer(page: Page, name: str, content: str) -> None:
    open_page(page, "/?dataset=demo&view=Open+a+file")
    file = {"name": name, "mimeType": "text/plain", "buffer": content.encode()}
    page.locator("input[type=file]").set_input_files(file)
    settled(page)


def test_spans_of_prodigy_are_read_and_scored(page: Page) -> None:
    lines = [
        {
            "text": text, "_input_hash": number, "_task_hash": number, "_view_id": "ner_manual", "answer": "accept",
            "spans": [{"start": a, "end": b, "label": label} for a, b, label in given], "_annotator_id": worker,
        }
        for worker, marked in MARKED.items()
        for number, (text, given) in enumerate(zip(TEXTS, marked, strict=True))
    ]  # fmt: skip
    offer(page, "cities.jsonl", "".join(json.dumps(line) + "\n" for line in lines))
    expect(main(page).get_by_test_id("stMetric").filter(has_text="Tokens")).to_contain_text("13")
    warning = main(page).locator("[class*=st-key-finding-change]")
    expect(warning).to_contain_text("1 span cutting a token would be left out: ben: PER at 9…11, 'ob', is a part of")
    expect(warning).to_contain_text("'Bob' at 8…11 (row 3)")
    main(page).get_by_role("button", name="Accept 1 change and open").click()
    expect(page).to_have_url(re.compile("/\\?dataset=cities-[0-9a-f]{10}"))
    settled(page)
    page.get_by_role("link", name="Mistakes", exact=True).click()
    expect(main(page).get_by_role("heading", name="Mistakes", exact=True)).to_be_visible()
    settled(page)
    expect(main(page).get_by_text("Boundary errors")).to_be_visible()
    assert "Traceback" not in main(page).inner_text()
    expect(main(page).get_by_test_id("stAlert")).to_have_count(0)


def test_ratings_in_words_are_ordered_by_the_user(page: Page) -> None:
    words = {"a": ("good", "fair", "good"), "b": ("bad", "bad", "fair"), "c": ("fair", "good", "fair")}
    rows = [f"{film},{worker},{word}" for film, said in words.items() for worker, word in zip("xyz", said, strict=True)]
    offer(page, "films.csv", "\n".join(["film,critic,says", *rows]))
    main(page).get_by_text("Ratings: numbers, or words in an order").click()
    settled(page)
    for role, column in (("Task", "film"), ("Worker", "critic")):  # the label is what is left
        main(page).get_by_role("combobox", name=role, exact=True).click()
        page.get_by_role("option", name=column, exact=True).click()
        settled(page)
    levels = main(page).get_by_role("combobox", name="Words, from the lowest to the highest")
    for word in ("bad", "fair", "good"):
        levels.click()
        page.get_by_role("option", name=word, exact=True).click()
        settled(page)
    levels.press("Tab")  # closes the list, which hides the rest
    expect(main(page).get_by_test_id("stMetric").filter(has_text="Range")).to_contain_text("1 to 3")
    expect(main(page).get_by_text("Nothing would be dropped or merged.")).to_be_visible()
    main(page).get_by_role("button", name="Open it").click()
    expect(page).to_have_url(re.compile("/ratings\\?dataset=films-[0-9a-f]{10}"))
    settled(page)
    expect(page.get_by_text("3 tasks · 3 workers · 9 ratings from 1 to 3")).to_be_visible()
    expect(main(page).get_by_text("critic")).to_have_count(0)
    # It is among the uploads, and chosen like any other dataset.
    visit(page, "/?dataset=demo&view=Open+a+file")
    expect(main(page).locator("[class*=st-key-upload-films]").get_by_role("link", name="films")).to_be_visible()
    page.get_by_role("combobox", name="Dataset").click()
    page.get_by_role("option", name="films", exact=True).click()
    settled(page)
    expect(page.get_by_text("3 tasks · 3 workers · 9 ratings from 1 to 3")).to_be_visible()

"""A file of one's own: understood, questioned, refused or taken in; spans and ratings have pages of their own."""

from __future__ import annotations

import json
import re
import stat
from pathlib import Path

import yaml
from playwright.sync_api import Page, expect

from crowdcore.data import simulate
from crowdcore.data.catalogue import open_labels
from crowdcore.data.writers import write_folder
from crowdcore.learning import train
from crowdcore.learning.learners import suggested_methods
from testkit import bombs
from testkit.planted import CONFUSED, COPIED, COPIER, DRIFTING, SPAMMER, planted_crowd
from testkit.recorded_runs import record
from testkit.steps import main, open_page, settled, visit
from tests.browser.conftest import keep_estimates, row
from tests.rated_crowd import rated_folder

TEXTS = ("Ann met Bob in New York.", "Rome is far from Paris.")
MARKED = {  # of each worker, in each text
    "ann": ([(0, 3, "PER"), (8, 11, "PER"), (15, 23, "LOC")], [(0, 4, "LOC"), (17, 22, "LOC")]),
    "ben": ([(0, 3, "PER"), (9, 11, "PER"), (15, 23, "LOC")], [(0, 4, "LOC"), (17, 22, "LOC")]),
    "cem": ([(0, 3, "PER"), (19, 23, "LOC")], [(0, 4, "LOC"), (17, 22, "PER")]),
}
NAMED = {
    SPAMMER: ("remove", "Shows no knowledge"),
    COPIER: ("check", "{copied} on"),
    COPIED: ("check", "{copier} on"),
    DRIFTING: ("check", "Got worse"),
    CONFUSED: ("train", "Calls “class 0” “class 1”"),
}


def offer(page: Page, name: str, content: bytes) -> None:
    visit(page, "/?dataset=demo&view=Open+a+file")
    page.locator("input[type=file]").set_input_files({"name": name, "mimeType": "text/csv", "buffer": content})
    settled(page)


def seen(page: Page, address: str, text: str | re.Pattern[str]) -> None:
    """Expect this text, and no error, on the page of this address."""
    visit(page, address)
    expect(main(page).get_by_text(text).first).to_be_visible()
    expect(page.get_by_test_id("stException")).to_have_count(0)
    expect(main(page).locator("[data-testid=stAlertContentError]")).to_have_count(0)


def test_planted_workers_are_named_two_clicks_after_choosing_a_file_and_to_nobody_else(page: Page) -> None:
    """A file without gold: what was planted in it is named, and nobody else is."""
    crowd = planted_crowd(1, n_tasks=600, n_workers=15, skill=(0.6, 0.95), even=True)
    votes = crowd.annotations[["task", "worker", "label", "timestamp"]]
    offer(page, "crowd.csv", votes.to_csv(index=False).encode())
    expect(main(page).get_by_text("Nothing would be dropped or merged.")).to_be_visible()
    main(page).get_by_role("button", name="Open it").click()
    expect(main(page).get_by_role("heading", name="crowd")).to_be_visible()
    expect(page).to_have_url(re.compile("/\\?dataset=crowd-[0-9a-f]{10}"))
    settled(page)
    ids = list(map(str, crowd.worker_ids))
    told = main(page).locator("[class*=st-key-verdict-worker-]")
    expect(told.filter(has=page.get_by_role("link", name=ids[SPAMMER], exact=True))).to_have_count(1)
    settled(page)
    expect(told).to_have_count(len(NAMED))
    for worker, (verdict, words) in NAMED.items():
        line = told.filter(has=page.get_by_role("link", name=ids[worker], exact=True))
        expect(line).to_contain_text(verdict)
        expect(line).to_contain_text(words.format(copied=ids[COPIED], copier=ids[COPIER]))
    page.get_by_role("link", name="Items").click()
    page.get_by_role("combobox", name="Worker").click()
    expect(page.get_by_role("option", name=ids[1], exact=True)).to_be_visible()
    expect(page).to_have_url(re.compile("tasks\\?dataset=crowd-"))
    # The link opens it again, in another session too.
    open_page(page, page.url)
    expect(main(page).get_by_role("heading", name="Items")).to_be_visible()
    page.get_by_role("combobox", name="Worker").click()
    expect(page.get_by_role("option", name="worker 01")).to_be_visible()
    expect(page.get_by_role("option", name=ids[1], exact=True)).to_have_count(0)


def test_spellings_are_merged_and_the_upload_is_renamed_and_deleted(page: Page) -> None:
    offer(page, "pets.csv", b"task,worker,label\n1,ann,cat\n1,ben,Cat\n2,ann,dog\n2,ben,cat\n3,ann,cat|dog\n")
    expect(main(page).get_by_text("Nothing would be dropped or merged.")).to_have_count(0)
    main(page).get_by_role("button", name="Merge them").click()
    expect(main(page).get_by_role("button", name="Accept 1 change and open")).to_be_visible()
    main(page).get_by_role("button", name="Keep classes apart again").click()
    main(page).get_by_role("button", name="Leave them out").click()
    expect(main(page).get_by_role("button", name="Merge them")).to_be_visible()
    main(page).get_by_role("button", name="Accept 1 change and open").click()
    expect(main(page).get_by_role("heading", name="pets")).to_be_visible()
    settled(page)
    there = main(page).get_by_role("link", name="Open a file")
    expect(there).to_have_attribute("href", re.compile("pets"))  # no longer that of the dataset before
    there.click()
    upload = main(page).locator("[class*=st-key-upload-pets]")
    upload.get_by_role("button", name="Manage").click()
    page.get_by_role("textbox", name="Name").fill("Cats & dogs")
    page.get_by_role("textbox", name="Name").press("Enter")
    page.get_by_role("button", name="Rename").click()
    expect(main(page).get_by_role("heading", name="Cats & dogs")).to_be_visible()
    page.reload()
    expect(main(page).get_by_role("heading", name="Cats & dogs")).to_be_visible()
    upload.get_by_role("button", name="Manage").click()
    page.get_by_role("button", name="Delete", exact=True).click()
    page.get_by_role("button", name="Delete for good").click()
    expect(upload).to_have_count(0)
    expect(main(page).get_by_role("heading", name="demo")).to_be_visible()


def test_a_bomb_is_one_sentence_and_the_app_goes_on(page: Page, tmp_path: Path, workspace: Path) -> None:
    bomb = bombs.parquet_of_many_rows(tmp_path / "bomb.parquet", 999_000_000)
    offer(page, bomb.name, bomb.read_bytes())
    alert = main(page).get_by_test_id("stAlert")
    expect(alert).to_have_count(1)
    expect(alert).to_contain_text("999,000,000")
    assert "Traceback" not in main(page).inner_text()
    page.get_by_role("link", name="Items").click()
    expect(main(page).get_by_role("heading", name="Items")).to_be_visible()
    written = [path for path in (workspace / "uploads").rglob("*") if path.name == bomb.name]
    assert [stat.S_IMODE(path.stat().st_mode) for path in written] == [0o600]


def test_no_other_site_may_frame_the_app_and_names_of_pages_lead_to_their_addresses(page: Page) -> None:
    answer = page.request.get("/data?dataset=demo")
    assert answer.url.endswith("/?dataset=demo")
    assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]
    assert answer.headers["x-frame-options"] == "DENY"
    assert page.request.get("/next-labels?dataset=rated").url.endswith("/next?dataset=rated")


def test_rules_are_edited_uploaded_and_downloaded(page: Page) -> None:
    visit(page, "/check?dataset=demo")
    fails = main(page).get_by_test_id("stMetric").filter(has_text="Fail")
    expect(fails).to_contain_text("1")
    main(page).get_by_text("Rules", exact=True).click()
    limit = main(page).get_by_role("spinbutton", name="Max dependent workers percent")
    limit.fill("50")
    limit.press("Enter")
    expect(page).to_have_url(re.compile("max_dependent_workers_percent%3D50"))
    expect(fails).to_contain_text("0")
    rules = b"min_krippendorff_alpha: 0.99\nreference: majority-vote\n"
    page.locator("input[type=file]").set_input_files(
        {"name": "rules.yaml", "mimeType": "application/yaml", "buffer": rules}
    )
    expect(page).to_have_url(re.compile("reference=majority-vote.*rules=min_krippendorff_alpha%3D0.99"))
    settled(page)
    expect(fails).to_contain_text("1")
    with page.expect_download() as taken:
        main(page).get_by_role("button", name="Rules (YAML)").click()
    held = yaml.safe_load(taken.value.path().read_text())
    assert held["min_krippendorff_alpha"] == 0.99
    assert held["reference"] == "majority-vote"
    assert not {name for name in held if name.startswith("max_")}
    with page.expect_download() as taken:
        main(page).get_by_role("button", name="JUnit XML").click()
    assert 'failures="1"' in taken.value.path().read_text()
    with page.expect_download() as taken:
        main(page).get_by_role("button", name="HTML page").click()
    assert "at least 0.99 is wanted" in taken.value.path().read_text()
    bad = {"name": "rules.yaml", "mimeType": "application/yaml", "buffer": b"min_krippendorf_alpha: 1\n"}
    page.locator("input[type=file]").set_input_files(bad)
    expect(main(page).get_by_test_id("stAlert")).to_contain_text("`min_krippendorff_alpha`")


def test_spans_of_prodigy_are_read_and_scored(page: Page) -> None:
    lines = [
        {
            "text": text, "_input_hash": number, "_task_hash": number, "_view_id": "ner_manual", "answer": "accept",
            "spans": [{"start": a, "end": b, "label": label} for a, b, label in given], "_annotator_id": who,
        }
        for who, marked in MARKED.items()
        for number, (text, given) in enumerate(zip(TEXTS, marked, strict=True))
    ]  # fmt: skip
    offer(page, "cities.jsonl", "".join(json.dumps(line) + "\n" for line in lines).encode())
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
    rows = [f"{film},{who},{word}" for film, said in words.items() for who, word in zip("xyz", said, strict=True)]
    offer(page, "films.csv", "\n".join(["film,critic,says", *rows]).encode())
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


def learnt(workspace: Path, dataset: str, *methods: str) -> list[str]:
    """Runs of one epoch, trained here; the page about them will not try what it suggests."""
    labels = open_labels(dataset)
    keep_estimates(workspace, dataset, suggested_methods(labels))
    results = [train(labels, method, seeds=2, epochs=1, device="cpu") for method in methods]
    return [record(workspace, result, labels) for result in results]


def test_sentences_from_data_to_report(page: Page, crowds: Path, workspace: Path) -> None:
    tagged = simulate.tags(n_sentences=60, n_valid=10, n_test=20, n_workers=5, length=6, seed=1)
    write_folder(tagged, crowds / "tagged")
    ids = learnt(workspace, "tagged", "dl-mv", "crowd-layer")
    seen(page, "/?dataset=tagged&view=Numbers", "Agreement between workers")
    expect(page.get_by_text("60 sentences")).to_be_visible()
    seen(page, "/?dataset=tagged", "Guideline to fix")
    seen(page, "/spans?dataset=tagged", "Boundary errors")
    chosen = "".join(f"&runs={run}" for run in ids)
    seen(page, f"/train?dataset=tagged&runs={ids[0]}", re.compile("test span F1: .*selected"))
    seen(page, f"/compare?dataset=tagged{chosen}", "Spans of the test split")
    seen(page, f"/confusions?dataset=tagged&runs={ids[1]}", "Compare")
    seen(page, f"/report?dataset=tagged{chosen}", "The same on the command line:")
    page.get_by_text("Contents").click()
    expect(main(page).get_by_text("Spans of the test split")).to_be_visible()


def test_ratings_from_data_to_report(page: Page, crowds: Path, workspace: Path) -> None:
    rated_folder(crowds / "rated")
    ids = learnt(workspace, "rated", "dl-mean", "crowd-layer")
    seen(page, "/?dataset=rated", "Open a file")
    expect(page.get_by_text("480 ratings from -2 to 3")).to_be_visible()
    seen(page, "/shared-mistakes?dataset=rated", re.compile("rated.* are numbers"))
    seen(page, "/next?dataset=rated", re.compile("another kind"))
    seen(page, "/ratings?dataset=rated", "Workers")
    settled(page)
    # From Ratings to its tasks, to one of them, to the next, and to all that one of its workers said.
    page.get_by_role("link", name="Items", exact=True).click()
    expect(main(page).get_by_role("heading", name="Items", exact=True)).to_be_visible()
    settled(page)
    row(page)
    expect(main(page).get_by_role("heading", name=re.compile(r"^t\d+$"))).to_be_visible()
    first = page.url
    settled(page)
    expect(main(page).get_by_text("surprising rating first")).to_have_count(0)
    expect(main(page).locator("[data-testid=stAlertContentError]")).to_have_count(0)
    main(page).get_by_role("link", name="Next task").click()
    expect(main(page).get_by_role("link", name="Previous task")).to_be_visible()
    expect(page).not_to_have_url(first)
    settled(page)
    row(page)
    expect(page).to_have_url(re.compile(r"/tasks\?.*worker=w\d"))
    expect(main(page).get_by_role("heading", name="Items", exact=True)).to_be_visible()
    expect(main(page).get_by_role("combobox", name="Rated by")).to_have_value(re.compile(r"w\d"))
    settled(page)
    chosen = "".join(f"&runs={run}" for run in ids)
    seen(page, f"/train?dataset=rated&runs={ids[0]}", re.compile("test RMSE: .*selected"))
    seen(page, f"/compare?dataset=rated{chosen}", "Difference in RMSE")
    seen(page, f"/compare?dataset=rated&view=Biases{chosen}", re.compile("learns no biases"))
    seen(page, f"/confusions?dataset=rated&runs={ids[1]}", re.compile("numbers from .* another kind"))
    seen(page, f"/report?dataset=rated{chosen}", "The same on the command line:")
    page.get_by_text("Contents").click()
    expect(main(page).get_by_text("Learnt biases")).to_be_visible()

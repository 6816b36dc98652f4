"""The main job, as a user does it: LabelMe, its shared mistakes, the workers and the tasks behind one of them."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
from playwright.sync_api import Page, expect

from crowdcore import analysis, load_dataset
from testkit.steps import choose, click_cell, heatmap, main, open_page, settled, visit

STREET, INSIDECITY = 3, 1


def test_from_labelme_to_one_task_and_back(page: Page, data_folder: Path) -> None:
    open_page(page, "/")
    choose(page, "Dataset", "labelme")
    page.get_by_role("link", name="Mistakes", exact=True).click()
    expect(heatmap(page).get_by_text("61.0", exact=True)).to_be_visible()
    written = set(heatmap(page).locator(".heatmap-label").evaluate_all("es => es.map(e => e.textContent)"))
    percent = analysis.shared_mistakes(load_dataset("labelme")).percent
    off = percent[~np.eye(len(percent), dtype=bool)]
    assert {"61.0", "44.1"} <= written - {""} == {f"{value:.1f}" for value in off[off > 0]}
    click_cell(page, STREET, INSIDECITY, 8)
    expect(main(page).get_by_text("36 workers of 59 (61.0 %) gave insidecity")).to_be_visible()
    expect(page).to_have_url(re.compile(r"true=street&given=insidecity"))
    expect(main(page).get_by_role("radio", name="Workers (36)")).to_be_checked()
    main(page).get_by_role("radio", name=re.compile("Tasks")).click()
    link = main(page).get_by_role("link", name=re.compile("train-")).first
    name = link.inner_text()
    link.click()
    expect(main(page).get_by_role("heading", name=name)).to_be_visible()
    expect(page).to_have_url(re.compile(rf"/tasks\?.*task={name}"))
    settled(page)
    main(page).get_by_role("link", name="street labelled insidecity").click()
    expect(main(page).get_by_text("36 workers of 59")).to_be_visible()
    expect(page).to_have_url(
        re.compile(r"/shared-mistakes\?dataset=labelme&reference=gold&true=street&given=insidecity")
    )


def test_a_row_on_tasks_opens_its_task_and_the_back_button_the_list(page: Page) -> None:
    visit(page, "/tasks?dataset=demo")
    canvas = main(page).locator("canvas").first
    canvas.scroll_into_view_if_needed()
    canvas.click(position={"x": 12, "y": 52}, force=True)  # a scroll area lies above it
    expect(page).to_have_url(re.compile("task=digit-"))
    name = page.url.split("task=")[1]
    expect(main(page).get_by_role("heading", name=name)).to_be_visible()
    page.go_back()
    expect(main(page).get_by_role("heading", name="Items", exact=True)).to_be_visible()


def test_a_cell_of_a_coordinated_group_leads_to_its_labels(page: Page) -> None:
    visit(page, "/annotators?dataset=demo&view=Together")
    expect(main(page).get_by_text("w04 and w05 agree beyond what")).to_be_visible()
    click_cell(page, 1, 0, 10)
    expect(page).to_have_url(re.compile(r"given=zero.*|true=one.*"))
    main(page).get_by_role("link", name="The group's labels “zero” on tasks that are one").click()
    expect(page).to_have_url(re.compile(r"/review\?.*workers=w04"))
    settled(page)
    expect(main(page).get_by_role("heading", name="Items")).to_be_visible()

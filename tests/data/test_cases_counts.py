"""Tables of counts, shares and ranks: no worker is named in them, and none is invented."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from crowdcore.analysis import agreement
from crowdcore.core.errors import DataError
from crowdcore.data import examine, from_frame
from tests.data.reading.read_case import ANIMALS, CROWD, read_case, refusal, summary

FLEISS = 0.209931  # of Fleiss (1971), table 1


@pytest.mark.parametrize(
    ("case", "tasks", "places", "annotations", "classes"),
    [
        ("counts-per-class", 10, 14, 140, ("1", "2", "3", "4", "5")),
        ("counts-per-class-n", *CROWD[:3], ANIMALS),
        ("winner-one-hot", 40, 1, 40, ("model_a", "model_b", "tie")),
    ],
)
def test_counts_become_labels_of_places(case, tasks, places, annotations, classes):
    found = read_case(case)
    dataset = found.dataset()
    assert (dataset.n_tasks, dataset.n_workers, dataset.n_annotations) == (tasks, places, annotations)
    assert (found.report.format, dataset.classes) == ("counts", classes)
    assert [f.level for f in found.report.findings if f.code == "no-workers"] == ["warning"]
    assert any("No worker is named" in note for note in dataset.notes)


def test_agreement_is_that_of_the_counts():
    assert round(agreement(read_case("counts-per-class").dataset()).fleiss.value, 6) == FLEISS
    assert summary(read_case("counts-per-class-n")) == CROWD


def test_shares_without_their_number_are_refused():
    error = refusal("percent-per-class")
    assert error.code == "shares"
    assert [(r.setting, r.value) for r in error.remedies] == [("workers", list(ANIMALS))]
    assert read_case("percent-per-class", workers=ANIMALS).report.n_workers == 3


def test_shares_with_their_number_are_counts():
    counts = np.array([[1, 2, 1], [2, 0, 2], [3, 0, 0], [0, 1, 2], [2, 2, 0]])
    frame = pd.DataFrame(counts / counts.sum(1, keepdims=True), columns=ANIMALS).round(3)
    frame.insert(0, "item", [f"t{i}" for i in range(5)])
    assert from_frame(frame.assign(n_annotators=counts.sum(1))).n_annotations == counts.sum()
    with pytest.raises(DataError) as caught:
        from_frame(frame)
    assert caught.value.code == "shares"


def test_ranks_are_no_labels():
    rng = np.random.default_rng(1)
    frame = pd.DataFrame([rng.permutation(4) + 1 for _ in range(12)], columns=["gpt", "llama", "qwen", "yi"])
    with pytest.raises(DataError) as caught:
        from_frame(frame)
    assert caught.value.code == "ranks"
    assert from_frame(frame, workers=list(frame.columns)).n_workers == 4


@pytest.mark.parametrize("seed", range(5))
def test_numbers_of_workers_are_no_counts(seed):
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 4, 60)
    answers = np.where(rng.random((60, 5)) < 0.7, truth[:, None], rng.integers(0, 4, (60, 5)))
    for low in (0, 1):
        for people in (["ann", "ben", "cem", "dee", "eve"], ["1", "2", "3", "4", "5"]):
            dataset = from_frame(pd.DataFrame(answers + low, columns=people))
            assert (dataset.n_workers, dataset.n_annotations) == (5, 300)
    binary = from_frame(pd.DataFrame((answers > 1).astype(int), columns=list("abcde")))
    assert binary.n_workers == 5


def test_a_count_that_is_none_is_named_with_its_row(write):
    lines = "".join(f"t{i},{i % 3},{5 - i % 3},0\n" for i in range(1100))
    path = write(f"task,n_a,n_b,n_c\n{lines}t-last,1.5,2,3\n")
    with pytest.raises(DataError) as caught:
        examine(path)
    assert (caught.value.code, caught.value.row, caught.value.column) == ("not-counts", 1101, "n_a")


def test_rows_of_task_label_and_count(write):
    path = write("task,label,count\nt1,cat,2\nt1,dog,1\nt2,cat,3\n")
    found = examine(path)
    assert summary(found)[:3] == (2, 3, 6)
    assert found.report.roles["count"] == "count"
    with pytest.raises(DataError) as caught:
        examine(write("task,label,count\nt1,cat,2\nt1,dog,\nt2,,3\n"))
    assert caught.value.code == "not-counts"


def test_counts_of_ten_thousand_images(data_folder):
    found = examine(data_folder / "cifar10h_counts" / "counts.parquet")
    assert (found.report.n_tasks, found.report.n_annotations, found.report.n_workers) == (10_000, 511_000, 63)


def test_numbers_that_rule_each_other_out_are_asked_about():
    rng = np.random.default_rng(0)
    shares = rng.dirichlet([0.5] * 3, 60)
    numbers = np.array([rng.multinomial(n, share) for n, share in zip(rng.integers(2, 7, 60), shares, strict=True)])
    frame = pd.DataFrame(numbers, columns=["negative", "neutral", "positive"])
    with pytest.raises(DataError) as caught:
        from_frame(frame)
    assert [r.settings for r in caught.value.remedies][:2] == [("format",), ("workers",)]
    dataset = from_frame(frame, format="counts")
    assert (dataset.classes, dataset.n_annotations) == (tuple(frame), numbers.sum())
    assert from_frame(frame, workers=list(frame)).n_workers == 3


@pytest.mark.parametrize("seed", range(10))
def test_workers_who_guess_are_not_asked_about(seed):
    rng = np.random.default_rng(seed)
    for n_classes in (2, 5):
        assert from_frame(pd.DataFrame(rng.integers(0, n_classes, (40, 4)), columns=list("abcd"))).n_workers == 4


def test_a_map_of_nothing_is_refused(write):
    with pytest.raises(DataError) as caught:
        examine(write('{"id": {"id": null}}', "map.json"), format="counts")
    assert caught.value.code == "no-label"

"""Answers of judges and models: exports of tools, logs of Inspect, samples of benchmarks."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import crowdcore as cc
from crowdcore.core.errors import SettingError
from crowdcore.data.unpack import is_archive
from crowdcore.data.uploads import store_upload, unpacked_folder
from testkit import exports
from testkit.judge_files import inspect_log, instance, lm_sample, lm_text, write, write_eval, write_lines, zip_zstandard
from tests.data.reading.read_case import Told, check, examined, placed, table

Maker = Callable[[Path], Path]
WRITTEN = Path(__file__).parent / "inspect"
GRADES = {f"s{k}": {"grade": "CI"[k % 2], "grade1": "C", "grade2": "CI"[k > 2]} for k in range(4)}
TIME = "2026-01-02T03-04-05.678901"
CHOSEN = {"org__m1": (0, 1, 1, 0), "org__m2": (0, 1, 0, 0), "org__m3": (1, 1, 1, 0)}
JUDGE_AND_ITEM = ("judge", "item", "verdict")


def export(name: str, change: Callable[[Any], None] | None = None) -> Maker:
    """Write a tool's export with its document changed."""

    def made(folder: Path) -> Path:
        path = write(folder / "files")[name]
        if change is not None:
            document = json.loads(path.read_text())
            change(document["results"]["results"])
            path.write_text(json.dumps(document))
        return path

    return made


def lines(records: list[Any], name: str = "labels.jsonl") -> Maker:
    return lambda folder: write_lines(records, folder / name)


def saved(log: dict[str, Any], folder: Path, form: str = "eval", name: str = "log") -> Path:
    if form == "eval":
        return write_eval(log, folder / f"{name}.{form}")
    (folder / f"{name}.{form}").write_text(json.dumps(log), encoding="utf-8")
    return folder / f"{name}.{form}"


def log(samples: Any, form: str = "eval", **more: Any) -> Maker:
    return lambda folder: saved(inspect_log(samples, **more), folder, form)


def logs(**named: dict[str, Any]) -> Maker:
    """A folder of logs by the names of their files."""

    def made(folder: Path) -> Path:
        for name, document in named.items():
            saved(document, folder, name=name)
        return folder

    return made


def samples(
    line: Callable[[str, int, int], Any], name: str = f"samples_boolq_{TIME}.jsonl", *, apart: bool = True
) -> Maker:
    """Write the answers of three models to four items, in a folder each or in files named by them."""

    def made(folder: Path) -> Path:
        for model, chosen in CHOSEN.items():
            of_model = [line(model, k, choice) for k, choice in enumerate(chosen)]
            write_lines(of_model, folder / model / name if apart else folder / f"samples_boolq_{model}.jsonl")
        return folder

    return made


def several(*makers: Maker) -> Maker:
    return lambda folder: [made(folder) for made in makers] and folder


def harness(task: str = "boolq", options: tuple[str, ...] = ("no", "yes")) -> Maker:
    return samples(lambda m, k, choice: lm_sample(k, choice, k % 2, options), f"samples_{task}_{TIME}.jsonl")


def assessed(name: str, by: str, **more: object) -> dict[str, object]:
    return {"assessment_name": name, "source": {"source_type": "HUMAN", "source_id": by}, **more}


def by_models(of: Callable[[str, int], Any], n: int = 4) -> dict[str, dict[str, Any]]:
    return {m: inspect_log({f"s{k}": {"match": of(m, k)} for k in range(n)}, m) for m in ("m1", "m2")}


TRACES = [
    {"trace_id": f"t{k}", "assessments": [
        assessed("ok", "ann", feedback={"value": "yes"}), assessed("ok", "gpt", feedback={"value": "no"}),
        assessed("ok", "gpt", feedback={"value": "yes"}, valid=False),
        assessed("ok", "ann", expectation={"value": "yes"}), assessed("tone", "gpt", feedback={"value": k}),
    ]} for k in range(3)
]  # fmt: skip
BRAINTRUST: list[dict[str, Any]] = [
    {"id": f"r{k}", "input": "i", "output": "o", "scores": None if k in (0, 2) else {"j1": 1, "j2": k % 2}}
    for k in range(4)
]  # fmt: skip
SCORE = {"name": "ok", "value": 1, "source": "API", "authorUserId": "a"}
MT = io.StringIO()
WRITER = csv.DictWriter(
    MT, ["question_id", "model", "judge", "user_prompt", "judgment", "score"], extrasaction="ignore"
)
WRITER.writeheader()
WRITER.writerows({**record, "judge": f"judge-{n % 2}"} for n, record in enumerate(exports.MT_BENCH))
ERRORS = inspect_log({**GRADES, "s8": {"grade": float("nan"), "grade1": None, "grade2": "C"}})
ERRORS["samples"].append({"id": "s9", "epoch": 1, "input": "x", "target": "", "error": {"message": "no connection"}})
NAMELESS = inspect_log({"s1": {"g": "C", "g1": "I"}, "s2": {"g": "C", "g1": "C"}})
NAMELESS["samples"] = [{**sample, "id": None} for sample in NAMELESS["samples"]]
RUBRICS = {f"s{k}": {n: {"clear": k % 3 + 1, "true": k % 2} for n in ("rubric", "rubric1")} for k in range(6)}
OTHER_WORDS = {key: {**given, "grade3": 0.25 * int(key[1])} for key, given in GRADES.items()}
TEXTS = {"m1": (1, 0, 1), "m2": (1, 1, 0)}
BETWEEN = [instance(k, m, f"a{k}", "b") | {"evaluation": {"score": k / 9}} for m in ("m1", "m2") for k in range(6)]
HELM = [instance(k, m, " " + "ABCD"[k % 4], f"{k % 4} of {k}", "mmlu") for k in range(8) for m in ("m1", "m2")]
for line in HELM:
    line["input"]["choices"] = [f"{c} of {line['sample_id']}" for c in range(4)]
    line["evaluation"]["is_correct"] = True

CASES: dict[str, tuple[Any, ...]] = {
    **{f"two judges of two items of {name}": (
        export(name), {"changes": {}, "worker_ids": ["j1", "j2"], "classes": ("fail", "pass"), "label": [1, 0, 1, 1],
                       "golds": ["pass" if name == "verdicts" else ""] * 2})
       for name in ("promptfoo", "mlflow", "langfuse", "verdicts")},
    "scores that may be questions": (
        export("braintrust"), {"changes": {"scorers-as-judges": ()}, "worker_ids": ["j1", "j2"]},
        ({"question": "j1"}, {"changes": {}, "n_workers": 1})),
    "the second order of a pair is turned back": (
        export("judge-bench"), {"changes": {}, "worker_ids": ["j1", "j2"], "classes": ("A<B", "A>B"),
        "labels": ["A>B", "A<B", "A<B", "A<B"], "golds": ["A>B"]}),
    "people and models of the alternative annotator test": (
        export("alt-test"), {"changes": {}, "worker_ids": ["ann", "ben", "gpt"], "classes": ("no", "yes")}),
    "expectations are gold and what was overridden is left out": (
        lines(TRACES, "traces.jsonl"), {"lost": {"several-questions": 3, "discarded": 3}, "n_annotations": 6,
        "golds": ["yes"] * 3}),
    "ungraded outputs are counted": (
        export("promptfoo", lambda rows: rows.append({"testIdx": 9, "promptIdx": 0, "provider": "x",
        "error": "no answer"})),
        {"n_left_out": 1, "n_rows": 5}),
    "an output without a grade": (
        export("promptfoo", lambda rows: rows[0].update(gradingResult=None)), {"lost": {"no-score": 1}}),
    "outputs without scores are no question and no judge": (
        lines(BRAINTRUST, "rows.jsonl"), {"format": "braintrust", "lost": {"no-score": 2}, "text": ("2 scores",)}),
    "a label beside a score stays the label": (
        "judge,item,label,score\na,1,x,0.5\nb,1,y,0.25\na,2,x,0.75\nb,2,x,1\n", {"changes": {}, "classes": ("x", "y")}),
    **{f"{words} are in their order": (
        table([(j, k, w) for k in range(4) for j, w in zip("ab", words.split(), strict=True)], *JUDGE_AND_ITEM),
        {"classes": tuple(words.split()[::-1])}) for words in ("good bad", "APPROVE REJECT")},
    "two words that are not known": (
        table([(j, k, w) for k in range(2) for j, w in zip("ab", ("civil", "toxic"), strict=True)], *JUDGE_AND_ITEM),
        {"changes": {"unknown-verdicts": ()}, "first": {"classes": ["toxic", "civil"]}},
        ({"classes": ["toxic", "civil"]}, {"changes": {}, "classes": ("toxic", "civil")})),
    "questions as items": (
        table([(f"why {k}?", who, (k + j) % 2, k % 2) for k in range(4) for j, who in enumerate("ab")], "question",
        "grader",
              "score", "gold"), {"changes": {}, "n_tasks": 4, "n_gold": 4, "label": [0, 1, 1, 0] * 2,
                  "gold": [0, 1, 0, 1]}),
    "scores of a csv": (
        MT.getvalue(), {"format": "mt-bench", "classes": ("7", "8"), "task_ids": ["1 / alpaca", "2 / alpaca"],
                        "worker_ids": ["judge-0", "judge-1"], "changes": {"no-score": (4,)}}),
    **{f"labels that only look like a tool's: {[*record]}": (
        lines([{"id": k, **record} for k in range(3)]), {"format": "nested", "worker_ids": ["a", "b"]})
       for record in ({"assessments": [{"worker": "a", "label": "x"}, {"worker": "b", "label": "y"}]},
                      {"input": "i", "output": "o", "scores": {"a": "x", "b": "y"}})},
    "one judge of all is not the worker": (
        table([(who, f"i{k}", "alice", "yn"[k % 2]) for who in ("ann", "ben") for k in range(4)], "annotator", *("item",
              "judge", "verdict")), {"changes": {}, "worker_ids": ["ann", "ben"]}),
    "what has no item": (
        lines([{**SCORE, "traceId": t} for t in ("t1", None, "t2")], "scores.jsonl"),
        {"n_rows": 3, "lost": {"no-item": 1}}),
    "traces without a name": (
        lines([{"trace_id": t, "assessments": [{"assessment_name": "ok", "source": {"source_id": "j"},
                "feedback": {"value": "yes"}}]} for t in ("2", None)], "traces.jsonl"), {"n_tasks": 2}),
    # logs of Inspect
    "a log of graders that inspect wrote": (  # `includes` is no model; the target is no verdict
        WRITTEN / "sums.eval", {"changes": {"scorers-as-judges": ()}, "n_tasks": 8, "n_annotations": 24, "n_gold": 0,
        "worker_ids": {"includes", "mockllm/judge-a", "mockllm/judge-b"}, "classes": ("I", "C")}),
    "a folder of models that inspect wrote": (
        WRITTEN / "parity", {"changes": {}, "worker_ids": {"mockllm/m1", "mockllm/m2"}, "classes": ("A", "B"),
                             "golds": ["A", "B", "A", "B"]}),
    **{f"graders of one kind, {form}": (
        log(GRADES, form), {"changes": {}, "worker_ids": ["grade", "grade1", "grade2"], "classes": ("I", "C"),
        "labels": ["C", "C", "C", "I", "C", "C", "C", "C", "C", "I", "C", "I"]}) for form in ("eval", "json")},
    "each epoch is an output of its own": (
        log(GRADES, epochs=2), {"n_tasks": 8, "task_ids": {f"s{k} / epoch {n}" for k in range(4) for n in (1, 2)}}),
    "several models and scorers": (
        logs(m1=inspect_log(GRADES, "m1"), m2=inspect_log(GRADES, "m2")),
        {"changes": {"scorers-as-judges": ()}, "task_ids": {f"{m} / s{k}" for m in ("m1", "m2") for k in range(4)}},
        ({"worker": "model"}, {"worker_ids": ["m1", "m2"], "classes": ("wrong", "right")})),
    "the same model run twice gives outputs of its own": (
        logs(first=inspect_log(GRADES), second=inspect_log(GRADES)), {"changes": {}, "n_tasks": 8}),
    "free answers are right or wrong and gold says so": (
        logs(**by_models(lambda m, k: {"value": {"m1": "CIPI", "m2": "CCIN"}[m][k], "answer": f"{m} {k}"})),
        {"changes": {}, "has": {"outcomes"}, "classes": {"right", "wrong", "partial", "no answer"},
        "golds": ["right"] * 4}),
    "answers scored otherwise than the target says are no answers": (
        logs(**by_models(lambda m, k: {"value": "I", "answer": "A"})), {"classes": ("wrong", "right")}),
    "errors and missing scores are counted": (
        lambda folder: saved(ERRORS, folder, "json"),
        {"lost": {"sample-error": 3, "no-score": 2}, "n_rows": 18, "n_annotations": 13}),
    "values of several questions": (
        log(RUBRICS), {"changes": {"several-questions": ()}},
        ({"question": "true"}, {"changes": {}, "classes": ("0", "1")})),
    "a scorer of other words is left out": (
        log(OTHER_WORDS), {"lost": {"other-words": 4}, "findings": {"other-words": {"level": "question"}},
        "worker_ids": ["grade", "grade1", "grade2"]}),
    "numbers of single models are no verdicts": (
        log({f"s{k}": {"bleu": k / 7} for k in range(5)}), {"refused": None, "match": "right"}),
    "gold is a field of the metadata": (log(GRADES, metadata={"human": "I"}),
        ({"gold": "human"}, {"golds": ["I"] * 4})),
    **{f"a log of {none} samples": (
        lambda folder, none=none: saved(inspect_log({}) | {"samples": none}, folder, "json"),
        {"refused": None, "match": "No sample"}) for none in ([], None, {})},
    "an empty log beside others": (
        logs(full=inspect_log(GRADES), empty=inspect_log({}, status="error")),
        {"findings": {"empty-logs": {"examples": ("empty",)}}}),
    "one judge alone is no panel": (log({"s1": {"grade": "C"}, "s2": {"grade": "I"}}), {"has": {"one-judge"}}),
    "a damaged member": (
        lambda folder: zip_zstandard({"header.json": b"{}", "samples/a.json": b"{}"}, folder / "log.eval",
        damaged=True) or
        folder / "log.eval", {"refused": None, "match": "checksum"}),
    "gold that no sample has, and samples without a name": (
        lambda folder: saved(NAMELESS, folder, "json"), {"changes": {}, "n_tasks": 2},
        ({"gold": "humen"}, {"refused": SettingError, "match": "metadata"})),
    # samples of lm-evaluation-harness and of Every Eval Ever
    "a folder is a panel of models": (
        harness(), {"changes": {}, "worker_ids": [*CHOSEN], "classes": ("no", "yes"), "n_tasks": 4,
                    "golds": ["no", "yes", "no", "yes"], "label": [0, 0, 1, 1, 1, 1, 1, 0, 1, 0, 0, 0]}),
    "options that differ are letters": (
        samples(lambda m, k, c: lm_sample(k, c, k % 2, (f"no {k}", f"yes {k}"))),
        {"changes": {}, "classes": ("A", "B")}),
    "a target may be the text of an option": (
        samples(lambda m, k, c: lm_sample(k, c, ["no", "yes"][k % 2], acc=float(c == k % 2))), {"gold": [0, 1, 0, 1]}),
    "several tasks keep their items apart": (
        several(harness(), harness("rte")), {"task_ids": {f"{t} / {k}" for t in ("boolq", "rte") for k in range(4)}},
        ({"question": "rte"}, {"n_tasks": 4}), ({"question": "mmlu"}, {"refused": SettingError})),
    "several files of one folder are models where their documents are the same": (
        samples(lambda m, k, c: lm_sample(k, c, k % 2), apart=False), {"worker_ids": {"m1", "m2", "m3"}}),
    "results name the model": (
        several(lines([lm_sample(k, k % 2, k % 2) for k in range(4)], f"samples_boolq_{TIME}.jsonl"),
                lambda folder: (folder / f"results_{TIME}.json").write_text('{"model_name": "org/m7"}')),
        {"changes": {}, "worker_ids": ["org/m7"], "has": {"one-judge"}}),
    "free texts are right or wrong and one filter is read": (
        several(*(lines([lm_text(k, f"{k * r}", bool(r), rule) for rule in ("strict", "loose") for k,
        r in enumerate(rights)],
                        f"{m}/samples_gsm8k_{TIME}.jsonl") for m, rights in TEXTS.items())),
        {"n_rows": 12, "n_left_out": 6, "changes": {}, "classes": ("wrong", "right"), "golds": ["right"] * 3,
         "label": [1, 1, 0, 1, 1, 0]}, ({"label": "bleu"}, {"refused": SettingError})),
    "a choice that contradicts its score is not taken for the answer": (
        samples(lambda m, k, c: lm_sample(k, c, k % 2, acc=float(c != k % 2))), {"classes": ("wrong", "right")}),
    "an empty file beside others": (
        several(harness(), lines([], "org__m9/samples_boolq.jsonl")),
        {"n_workers": 3, "changes": {}, "findings": {"empty-files": {"count": 1}}}),
    "a missing score and a huge text": (
        several(harness(), lines([lm_sample(k, 1, 1, filtered_resps=[["x" * 1_000_000]] if k == 3 else [])
        for k in range(4)],
                                 "org__m4/samples_boolq.jsonl")),
        {"lost": {"no-score": 4}, "changes": {"no-score": (13, 14, 15, 16), "workers-without-labels": ()}}),
    "a damaged file of a folder": (
        several(lines([lm_sample(k, k % 2, k % 2) for k in range(4)], f"m1/samples_boolq_{TIME}.jsonl"),
                lambda folder: (folder / "m2").mkdir() or
                (folder / "m2" / f"samples_boolq_{TIME}.jsonl").write_text("not found\n")),
        {"refused": None, "match": "not JSON"}),
    "one sample without a target": (
        several(*(lines([lm_sample(k, k % 2, k % 2 if k else None) for k in range(100)],
        f"{m}/samples_boolq_{TIME}.jsonl")
                  for m in ("m1", "m2"))), {"classes": ("no", "yes"), "n_gold": 99}),
    "letters of options that helm wrote": (
        lines(HELM, "helm_mmlu.jsonl"), {"changes": {}, "classes": tuple("ABCD"), "golds": [*"ABCD"] * 2,
                                         "labels": [c for c in "ABCD" * 2 for _ in "12"]}),
    "scores between": (lines(BETWEEN, "instances.jsonl"), {"refused": None, "match": "right"}),
    "no scores": (lines([], "none/instances.jsonl"), {"refused": None}),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_cases(name: str, tmp_path: Path) -> None:
    content, *steps = CASES[name]
    check(placed(tmp_path, content), *steps)


def test_further_columns_and_labels_by_worker_and_task(tmp_path: Path) -> None:
    pair = Told(examined(placed(tmp_path / "pair", export("judge-bench"))))
    assert [*pair.extra["swapped"].astype(str)] == ["False", "True"] * 2
    parity = Told(examined(WRITTEN / "parity"))
    assert [label for task, worker, label in sorted(parity.triples) if worker.endswith("m1")] == ["A", "B", "A", "B"]
    for made, texts in ((log(GRADES), ["text of s0"]), (harness(), ["question 0", "question 1"])):
        (folder := tmp_path / texts[0]).mkdir()
        assert Told(examined(placed(folder, made))).media.columns["text"].tolist()[: len(texts)] == texts


def test_an_upload_is_unpacked_as_the_app_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CROWDCORE_WORKSPACE", str(tmp_path))
    with (WRITTEN / "sums.eval").open("rb") as content:
        stored = store_upload("sums.eval", content)
    assert is_archive(stored)
    assert cc.read_dataset(unpacked_folder(stored), accept=True).n_annotations == 24


@pytest.mark.parametrize("parts", [("boolq",), ("boolq", "rte")])
def test_every_eval_ever(parts: tuple[str, ...], tmp_path: Path) -> None:
    given = [
        instance(k, model, ("no", "yes")[(k + skill) % 2], ("no", "yes")[k % 2], part)
        for part in parts
        for skill, model in enumerate(("org/m1", "org/m2"))
        for k in range(6)
    ]
    panel = cc.read_dataset(write_lines(given, tmp_path / "instances.jsonl"))
    assert [*panel.worker_ids] == ["org/m1", "org/m2"] and panel.n_tasks == 6 * len(parts)
    right = panel.label == panel.gold[panel.task]
    assert [right[panel.worker == w].mean() for w in (0, 1)] == [1, 0]

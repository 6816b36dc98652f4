"""Small files of tools that judge models, after the tools' schemas."""

from __future__ import annotations

import json
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

ZSTANDARD = 93
OPTIONS = ("no", "yes")

Scores = Mapping[str, Mapping[str, Any]]
"""Sample -> scorer -> value."""


def inspect_log(
    scores: Scores, model: str = "m1", task: str = "t", epochs: int = 1, status: str = "success", **sample: Any
) -> dict[str, Any]:
    """An Inspect log as one document (schema version 2): each score is the value, or a record with ``answer``."""
    scorers = dict.fromkeys(name for given in scores.values() for name in given)
    samples = [
        {
            "id": key, "epoch": epoch, "input": f"text of {key}", "target": "A", "messages": [], "output": {},
            "scores": {n: v if isinstance(v, dict) and "answer" in v else {"value": v} for n, v in given.items()},
            "metadata": {}, **sample,
        }
        for epoch in range(1, epochs + 1)
        for key, given in scores.items()
    ]  # fmt: skip
    about = {"task": task, "model": model, "scorers": [{"name": name, "options": {}} for name in scorers]}
    return {"version": 2, "status": status, "eval": about, "results": {"scores": []}, "samples": samples}


def write_eval(log: Mapping[str, Any], file: Path) -> Path:
    """The same as ``.eval``: a ZIP whose members are compressed by Zstandard."""
    members = {"header.json": {name: part for name, part in log.items() if name != "samples"}}
    members |= {f"samples/{s['id']}_epoch_{s['epoch']}.json": s for s in log["samples"]}
    members |= {"summaries.json": []}
    zip_zstandard({name: json.dumps(part).encode() for name, part in members.items()}, file)
    return file


def zip_zstandard(members: Mapping[str, bytes], file: Path, damaged: bool = False) -> None:
    """A ZIP with members by method 93, which `zipfile` before Python 3.14 cannot write."""
    entries, out = [], bytearray()
    for name, content in members.items():
        packed, encoded = bytes(pa.compress(content, "zstd", asbytes=True)), name.encode()
        crc = zlib.crc32(content) ^ damaged
        fields = [ZSTANDARD.to_bytes(2, "little"), b"\0\0\x21\0", crc.to_bytes(4, "little")]
        fields += [len(part).to_bytes(4, "little") for part in (packed, content)]
        fields += [len(encoded).to_bytes(2, "little"), b"\0\0"]
        about, at = b"\x3f\0\0\0" + b"".join(fields), len(out).to_bytes(4, "little")
        out += b"PK\3\4" + about + encoded + packed
        entries.append(b"PK\1\2\x3f\3" + about + bytes(10) + at + encoded)
    start, count = len(out), len(entries).to_bytes(2, "little")
    listed = b"".join(entries)
    end = b"PK\5\6" + bytes(4) + count * 2 + len(listed).to_bytes(4, "little") + start.to_bytes(4, "little") + b"\0\0"
    file.write_bytes(bytes(out) + listed + end)
    assert zipfile.is_zipfile(file)


def lm_sample(
    number: int, chosen: int, target: Any, options: Sequence[str] = ("no", "yes"), **more: Any
) -> dict[str, Any]:
    """A line of lm-evaluation-harness 0.4 for a multiple choice."""
    odds = [[[-1.0 if k == chosen else -2.5, False]] for k in range(len(options))]
    values = {f"gen_args_{k}": {"arg_0": f"question {number}", "arg_1": f" {o}"} for k, o in enumerate(options)}
    return {
        "doc_id": number, "doc": {"question": f"question {number}"}, "target": target, "arguments": values,
        "resps": odds, "filtered_resps": [odd[0] for odd in odds], "filter": "none", "metrics": ["acc"],
        "doc_hash": f"h{number}", "prompt_hash": "p", "target_hash": "t", "acc": float(chosen == target), **more,
    }  # fmt: skip


def lm_text(number: int, answer: str, right: bool, rule: str = "strict-match") -> dict[str, Any]:
    """A line of lm-evaluation-harness 0.4 for a generated text."""
    return {
        "doc_id": number, "doc": {"question": f"sum {number}"}, "target": f"it is #### {number}",
        "arguments": {"gen_args_0": {"arg_0": f"sum {number}", "arg_1": {"until": ["Q:"]}}},
        "resps": [[f"so {answer}"]], "filtered_resps": [answer], "filter": rule, "metrics": ["exact_match"],
        "doc_hash": f"g{number}", "exact_match": float(right),
    }  # fmt: skip


def instance(number: int, model: str, answer: str, target: str, part: str = "boolq") -> dict[str, Any]:
    """A line of Every Eval Ever (instance_level_eval.schema.json 0.2)."""
    return {
        "schema_version": "instance_level_eval_0.2", "evaluation_id": f"{part}/{model}/1", "model_id": model,
        "evaluation_name": part, "sample_id": str(number), "sample_hash": f"h{number}",
        "input": {"raw": f"question {number}", "reference": [target], "choices": ["no", "yes"]},
        "output": {"raw": [answer]}, "evaluation": {"score": float(answer == target), "is_correct": answer == target},
    }  # fmt: skip


def write_lines(records: Sequence[Any], file: Path) -> Path:
    """Write JSON lines, making the folders."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return file


def write(folder: Path) -> dict[str, Path]:
    """Write for each reader a file or folder of two judges, two classes and two items."""
    folder.mkdir(parents=True, exist_ok=True)
    log = inspect_log({"s1": {"grade": "C", "grade1": "I"}, "s2": {"grade": "C", "grade1": "C"}})
    for model, chosen in (("m1", (0, 1)), ("m2", (1, 1))):
        lines = [lm_sample(k, choice, k) for k, choice in enumerate(chosen)]
        write_lines(lines, folder / "harness" / model / "samples_boolq_2026-01-02T03-04-05.678901.jsonl")
    instances = [instance(1, "m1", "yes", "yes"), instance(1, "m2", "no", "yes"), instance(2, "m1", "no", "no")]
    return {
        **{name: folder / file for name, file in _exports(folder).items()},
        "inspect-log": write_eval(log, folder / "log.eval"),
        "lm-eval": folder / "harness",
        "every-eval-ever": write_lines(instances, folder / "instances.jsonl"),
    }


def _exports(folder: Path) -> dict[str, str]:
    """Exports of two judges who disagree on the first of two items."""
    args = [("i1", "j1", "pass"), ("i1", "j2", "fail"), ("i2", "j1", "pass"), ("i2", "j2", "pass")]
    graded = [
        {
            "testIdx": k, "promptIdx": 0, "provider": {"id": "openai:x"}, "vars": {"q": f"question {k}"},
            "gradingResult": {"pass": True, "score": 1, "componentResults": [
                {"pass": label == "pass", "score": 1, "reason": "",
                 "assertion": {"type": "llm-rubric", "value": "is polite", "provider": judge}}
                for item, judge, label in args if item == f"i{k}"
            ]},
        }
        for k in (1, 2)
    ]  # fmt: skip
    assessed = [
        {
            "info": {"trace_id": item, "assessments": [
                {"assessment_name": "polite", "source": {"source_type": "LLM_JUDGE", "source_id": judge},
                 "feedback": {"value": label}, "create_time": "2026-01-02T03:04:05Z"}
                for one, judge, label in args if one == item
            ]},
            "data": {"spans": []},
        }
        for item in ("i1", "i2")
    ]  # fmt: skip
    scores = [
        {"id": f"s{k}", "traceId": item, "name": "polite", "value": None, "stringValue": label,
         "dataType": "CATEGORICAL", "source": "ANNOTATION", "authorUserId": judge, "comment": None}
        for k, (item, judge, label) in enumerate(args)
    ]  # fmt: skip
    rows = [
        {"id": item, "input": f"question {item}", "output": "x", "expected": None, "metadata": {},
         "scores": {judge: float(label == "pass") for one, judge, label in args if one == item}}
        for item in ("i1", "i2")
    ]  # fmt: skip
    name = "dataset=gpt,response_model=gpt-4o,judge_name=arena_hard,judge_model={}.jsonl"
    for judge, decisions in (("j1", ("A>B", "A>B")), ("j2", ("B>A", "A>B"))):
        pair = {"pair_id": "p1", "label": "A>B", "judgments": [{"decision": args} for args in decisions]}
        write_lines([pair], folder / "bench" / name.format(judge))
    (folder / "alt").mkdir()
    for file, people in (("human", ("ann", "ben")), ("llm", ("gpt",))):
        labels = {worker: {"i1": "yes" if worker == "ann" else "no"} for worker in people}
        (folder / "alt" / f"{file}_annotations.json").write_text(json.dumps(labels), encoding="utf-8")
    table = "judge,sample_id,verdict,target\n" + "".join(f"{j},{i},{label},pass\n" for i, j, label in args)
    (folder / "verdicts.csv").write_text(table, encoding="utf-8")
    document = {"evalId": "eval-1", "results": {"version": 3, "results": graded}, "config": {}}
    (folder / "promptfoo.json").write_text(json.dumps(document), encoding="utf-8")
    for file, records in (("mlflow", assessed), ("langfuse", scores), ("braintrust", rows)):
        write_lines(records, folder / f"{file}.jsonl")
    files = {file: f"{file}.jsonl" for file in ("mlflow", "langfuse", "braintrust")}
    return {
        **files,
        "promptfoo": "promptfoo.json",
        "verdicts": "verdicts.csv",
        "judge-bench": "bench",
        "alt-test": "alt",
    }

"""A small export of each annotation tool, as the tool or its documentation writes it.

Every export holds the classes ``pos`` and ``neg``, given by three workers to two or three texts, and some answers that
are no annotation of one class.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from testkit.export_tables import APPEN, TEXTS, TOLOKA, mturk


def _studio(number: int, who: int, *choices: str, **more: Any) -> dict[str, Any]:
    value = {"id": f"x{number}", "from_name": "sentiment", "to_name": "text", "type": "choices", "origin": "manual"}
    return {
        "id": number, "completed_by": who, "result": [value | {"value": {"choices": list(choices)}}] if choices else [],
        "was_cancelled": False, "ground_truth": False, "created_at": "2024-01-01T10:00:00.000000Z", "lead_time": 5.25,
        **more,
    }  # fmt: skip


# Written by label_studio_sdk.converter 2 (JSON); predictions and drafts as in the documentation of the export.
STUDIO: list[dict[str, Any]] = [
    {
        "id": 11, "inner_id": 1, "data": {"text": TEXTS["1"]}, "meta": {}, "drafts": [], "predictions": [{"id": 1}],
        "annotations": [
            _studio(1, 1, "pos"), _studio(2, 2, "neg"), _studio(3, 3, "pos", "neg"),
            _studio(7, 9, "pos", ground_truth=True),
        ],
    },
    {
        "id": 12, "inner_id": 2, "data": {"text": TEXTS["2"]}, "meta": {}, "drafts": [{"id": 5}], "predictions": [],
        "annotations": [_studio(4, 1, "neg"), _studio(5, 2, "neg"), _studio(6, 3, was_cancelled=True)],
    },
]  # fmt: skip

# Written by label_studio_sdk.converter 2 (CSV) from the tasks above.
STUDIO_CSV = """"annotation_id","annotator","created_at","id","lead_time","sentiment","text","updated_at"
1,"1","2024-01-01T10:00:00.000000Z",11,5.25,"pos","great film","2024-01-01T10:00:05.000000Z"
2,"2","2024-01-01T10:00:00.000000Z",11,5.25,"neg","great film","2024-01-01T10:00:05.000000Z"
3,"3","2024-01-01T10:00:00.000000Z",11,5.25,"{""choices"":[""pos"",""neg""]}","great film","2024-01-01T10:00:05.000000Z"
4,"1","2024-01-01T10:00:00.000000Z",12,5.25,"neg","dull plot","2024-01-01T10:00:05.000000Z"
5,"2","2024-01-01T10:00:00.000000Z",12,5.25,"neg","dull plot","2024-01-01T10:00:05.000000Z"
"""

# Written by label_studio_sdk.converter 2 (JSON_MIN) from the tasks above.
STUDIO_MIN = [
    {
        "text": TEXTS[task], "id": 10 + int(task), "sentiment": label, "annotator": who, "annotation_id": number,
        "created_at": "2024-01-01T10:00:00.000000Z", "updated_at": "2024-01-01T10:00:05.000000Z", "lead_time": 5.25,
    }
    for number, (task, who, label) in enumerate(
        [("1", 1, "pos"), ("1", 2, "neg"), ("1", 3, {"choices": ["pos", "neg"]}), ("2", 1, "neg"), ("2", 2, "neg")], 1
    )
]  # fmt: skip

# https://prodi.gy/docs/api-interfaces#choice, and https://github.com/TeMU-BSC/presto-nlp
PRODIGY = [
    {
        "text": TEXTS[task], "_input_hash": int(task), "_task_hash": -int(task), "_view_id": "choice",
        "options": [{"id": "pos", "text": "Good"}, {"id": "neg", "text": "Bad"}], "accept": accept, "answer": answer,
        "_timestamp": 1_700_000_000, "_annotator_id": f"db-{who}", "_session_id": f"db-{who}",
    }
    for task, who, answer, accept in [
        ("1", "ann", "accept", ["pos"]), ("1", "bob", "accept", ["neg"]), ("2", "ann", "accept", ["neg"]),
        ("2", "bob", "ignore", []), ("2", "eve", "reject", []), ("1", "eve", "accept", ["pos", "neg"]),
    ]
]  # fmt: skip

# doccano's backend/data_export: a ZIP with <user>.jsonl for each user of a project that is not collaborative.
DOCCANO = {
    "ann.jsonl": [("1", ["pos"]), ("2", ["neg"])],
    "bob.jsonl": [("1", ["neg"]), ("2", [])],
    "eve.jsonl": [("1", ["pos", "neg"]), ("2", ["neg"])],
}

_USERS = [f"00000000-0000-0000-0000-00000000000{n}" for n in (1, 2, 3)]
# Written by argilla 2.8, `dataset.records.to_json` and, with the status of each response, `to_datasets().to_json`.
ARGILLA = [
    {
        "id": "r1", "fields": {"text": TEXTS["1"]}, "metadata": {"source": "imdb"}, "vectors": {}, "status": "pending",
        "suggestions": {"sentiment": {"value": "pos", "score": 0.9, "agent": "model"}}, "_server_id": None,
        "responses": {
            "sentiment": [{"value": v, "user_id": u} for v, u in zip(("pos", "pos", "neg"), _USERS, strict=True)]
        },
    },
    {
        "id": "r2", "fields": {"text": TEXTS["2"]}, "metadata": {"source": "imdb"}, "vectors": {}, "status": "pending",
        "suggestions": {}, "_server_id": None,
        "responses": {"sentiment": [{"value": "neg", "user_id": _USERS[0]}, {"value": "neg", "user_id": _USERS[1]}]},
    },
]  # fmt: skip
ARGILLA_FLAT = [
    {
        "id": "r1", "status": "pending", "_server_id": None, "text": TEXTS["1"], "source": "imdb",
        "sentiment.responses": ["pos", "pos", "neg"], "sentiment.responses.users": _USERS,
        "sentiment.responses.status": ["submitted"] * 3, "sentiment.suggestion": "pos",
        "sentiment.suggestion.score": 0.9, "sentiment.suggestion.agent": "model",
    },
    {
        "id": "r2", "status": "pending", "_server_id": None, "text": TEXTS["2"], "source": "imdb",
        "sentiment.responses": ["neg", "neg", "pos"], "sentiment.responses.users": _USERS,
        "sentiment.responses.status": ["submitted", "discarded", "draft"], "sentiment.suggestion": None,
        "sentiment.suggestion.score": None, "sentiment.suggestion.agent": None,
    },
]  # fmt: skip

# https://docs.aws.amazon.com/sagemaker/latest/dg/sms-custom-templates-step3-lambda-requirements.html: what the
# post-annotation function is given, kept in annotations/consolidated-annotation/consolidation-request/iteration-1.
SAGEMAKER = [
    {
        "datasetObjectId": task, "dataObject": {"content": TEXTS[task]},
        "annotations": [
            {"workerId": f"private.us-east-1.{who}", "annotationData": {"content": json.dumps({"sentiment": answer})}}
            for who, answer in given
        ],
    }
    for task, given in {
        "1": [("A", {"label": "pos"}), ("B", {"label": "neg"}), ("C", {"labels": ["pos", "neg"]})],
        "2": [("A", {"label": "neg"}), ("B", {"label": "neg"}), ("C", {"boxes": []})],
    }.items()
]  # fmt: skip

# https://github.com/LightTag/lighttag-convertors: lighttag/type_definitions/lighttag_result_types.py
_SEEN = {who: {"annotator": f"{who}@example.org", "annotator_id": n, "timestamp": "2020-03-01T10:00:00Z"}
         for n, who in enumerate(("ann", "bob", "eve"))}  # fmt: skip
LIGHTTAG = {
    "name": "job", "id": "j", "schema": {},
    "examples": [
        {
            "example_id": "e1", "content": TEXTS["1"], "metadata": {}, "seen_by": list(_SEEN.values()),
            "annotations": [{"example_id": "e1", "start": 0, "end": 5, "tag": "ADJ", "annotated_by": [_SEEN["ann"]]}],
            "classifications": [
                {"example_id": "e1", "classname": name, "class_id": name, "classified_by": [_SEEN[who], _SEEN["eve"]]}
                for name, who in (("pos", "ann"), ("neg", "bob"))
            ],
        },
        {
            "example_id": "e2", "content": TEXTS["2"], "metadata": {}, "seen_by": list(_SEEN.values()),
            "classifications": [
                {"example_id": "e2", "classname": "neg", "class_id": "2", "classified_by": [_SEEN["ann"], _SEEN["bob"]]}
            ],
        },
    ],
}  # fmt: skip

# https://github.com/Le-Wi-Di/le-wi-di.github.io: the data format of the second edition (SemEval-2023 task 11).
LEWIDI = {
    key: {
        "text": TEXTS[key], "annotation task": "sentiment", "number of annotations": 3, "annotations": given,
        "annotators": "Ann1,Ann2,Ann3", "lang": "en", "hard_label": "neg", "soft_label": {"neg": 0.67, "pos": 0.33},
        "disagreement": "True", "split": "train" if key == "1" else "dev", "other_info": {},
    }
    for key, given in (("1", "pos,neg,pos"), ("2", "neg,neg,"))
}  # fmt: skip

# https://github.com/lm-sys/FastChat: fastchat/llm_judge/gen_judgment.py (single-answer grading)
MT_BENCH = [
    {
        "question_id": int(question), "model": model, "judge": ["gpt-4", "single-v1"] if who == "a" else who,
        "user_prompt": TEXTS[question], "judgment": f"A fine answer. Rating: [[{score}]]", "score": score, "turn": 1,
        "tstamp": 1_687_222_866.5,
    }
    for question, model, who, score in [
        ("1", "alpaca", "a", 8), ("1", "alpaca", "b", 7), ("2", "alpaca", "a", 7), ("2", "vicuna", "b", -1),
    ]
]  # fmt: skip


# the fields of Project.export of Labelbox's SDK (github.com/Labelbox/labelbox-python)
LABELBOX = [
    {
        "data_row": {"id": f"cl{task}", "external_id": task, "row_data": TEXTS[task]},
        "media_attributes": {"mime_type": "text/plain"},
        "projects": {
            "p": {
                "name": "Reviews",
                "labels": [
                    {
                        "label_details": {"created_by": f"{who}@x.org", "created_at": "2024-05-01T10:00:00.000+00:00"},
                        "performance_details": {"seconds_to_create": 12},
                        "annotations": {"objects": [{"name": "place"}] * (not given), "classifications": given},
                    }
                    for who, given in labels
                ],
            }
        },
    }
    for task, labels in {
        "1": [
            ("ann", [{"name": "sentiment", "radio_answer": {"name": "pos"}}]),
            ("bob", [{"name": "sentiment", "radio_answer": {"name": "neg"}}]),
            ("eve", [{"name": "sentiment", "checklist_answers": [{"name": "pos"}, {"name": "neg"}]}]),
        ],
        "2": [(w, [{"name": "sentiment", "radio_answer": {"name": "neg"}}]) for w in ("ann", "bob")] + [("eve", [])],
    }.items()
]  # fmt: skip


def lines(records: list[Any]) -> str:
    """Encode records as JSON lines."""
    return "".join(json.dumps(record) + "\n" for record in records)


FILES: dict[str, str] = {
    "mturk.csv": mturk(),
    "toloka.tsv": TOLOKA,
    "appen.csv": APPEN,
    "label-studio.json": json.dumps(STUDIO),
    "label-studio-table.csv": STUDIO_CSV,
    "label-studio-table.json": json.dumps(STUDIO_MIN),
    "prodigy.jsonl": lines(PRODIGY),
    "argilla.json": json.dumps(ARGILLA),
    "argilla.jsonl": lines(ARGILLA_FLAT),
    "sagemaker.json": json.dumps(SAGEMAKER),
    "lighttag.json": json.dumps(LIGHTTAG),
    "labelbox.jsonl": lines(LABELBOX),
    "lewidi.json": json.dumps(LEWIDI),
    "mt-bench.jsonl": lines(MT_BENCH),
}
"""File name -> text; the reader's name is the name before the dot."""

COUNTS = {
    "mturk.csv": (7, 5), "toloka.tsv": (5, 4), "appen.csv": (5, 4), "label-studio.json": (8, 4),
    "label-studio-table.csv": (5, 4), "label-studio-table.json": (5, 4), "prodigy.jsonl": (6, 3),
    "argilla.json": (5, 5), "argilla.jsonl": (6, 4), "sagemaker.json": (6, 4), "lighttag.json": (6, 4),
    "labelbox.jsonl": (6, 4), "lewidi.json": (6, 5), "mt-bench.jsonl": (4, 3), "doccano": (6, 4),
}  # fmt: skip
"""File name -> answers in it, those that are an annotation of one class."""


def write(folder: Path) -> dict[str, Path]:
    """Write all exports; doccano's is a folder."""
    paths = {}
    for name, text in FILES.items():
        paths[name] = folder / name
        paths[name].write_text(text, encoding="utf-8", newline="")
    paths["doccano"] = folder / "doccano"
    paths["doccano"].mkdir()
    for name, labels in DOCCANO.items():
        text = lines([{"id": int(task), "text": TEXTS[task], "label": label, "Comments": []} for task, label in labels])
        (paths["doccano"] / name).write_text(text, encoding="utf-8")
    return paths

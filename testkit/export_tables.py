"""Small exports of the tools that write tables, after their documentation; see `exports`."""

from __future__ import annotations

import csv
import io
from typing import Any

TEXTS = {"1": "great film", "2": "dull plot"}


def _table(header: list[str], rows: list[list[Any]], delimiter: str = ",") -> str:
    text = io.StringIO()
    csv.writer(text, delimiter=delimiter, lineterminator="\r\n").writerows([header, *rows])
    return text.getvalue()


# https://docs.aws.amazon.com/AWSMechTurk/latest/RequesterUI/ViewingResults.html: "Download CSV" of a batch.
MTURK_HEADER = [
    *("HITId", "HITTypeId", "Title", "Description", "Keywords", "Reward", "CreationTime", "MaxAssignments"),
    *("RequesterAnnotation", "AssignmentDurationInSeconds", "AutoApprovalDelayInSeconds", "Expiration"),
    *("NumberOfSimilarHITs", "LifetimeInSeconds", "AssignmentId", "WorkerId", "AssignmentStatus", "AcceptTime"),
    *("SubmitTime", "AutoApprovalTime", "ApprovalTime", "RejectionTime", "RequesterFeedback", "WorkTimeInSeconds"),
    *("LifetimeApprovalRate", "Last30DaysApprovalRate", "Last7DaysApprovalRate", "Input.text", "Answer.sentiment"),
    *("Approve", "Reject"),
]
MTURK_ANSWERS = [  # HIT, worker, answer, status
    ("1", "A1", "pos", "Approved"), ("1", "A2", "neg", "Approved"), ("1", "A3", "pos|neg", "Approved"),
    ("2", "A1", "neg", "Approved"), ("2", "A2", "neg", "Submitted"), ("2", "A3", "pos", "Rejected"),
    ("2", "A4", "", "Submitted"),
]  # fmt: skip


def mturk(answers: Any = MTURK_ANSWERS, header: list[str] = MTURK_HEADER, reviewed: bool = False) -> str:
    """Batch results; an answer for each column ``Answer.*``.

    The rows have no cells for Approve and Reject (as in https://github.com/xiaovictoria8/Monolingual-alignment-dataset
    and https://github.com/iai-group/sigir2024-transparentCIS), unless somebody has reviewed them.
    """
    rows = []
    for number, (hit, worker, answer, status) in enumerate(answers):
        known = {
            "HITId": f"3HIT{hit}", "HITTypeId": "3TYPE", "Title": "Sentiment, please", "Reward": "$0.05",
            "CreationTime": "Thu Jun 16 11:00:00 PDT 2011", "MaxAssignments": 3, "AssignmentId": f"3ASG{number}",
            "WorkerId": worker, "AssignmentStatus": status, "AcceptTime": "Thu Jun 16 12:59:03 PDT 2011",
            "SubmitTime": "Thu Jun 16 12:59:33 PDT 2011", "WorkTimeInSeconds": 30 + number,
            "LifetimeApprovalRate": "100% (3/3)", "Input.text": TEXTS[hit],
        }  # fmt: skip
        given = answer if isinstance(answer, dict) else {"Answer.sentiment": answer}
        rows.append([(known | given).get(name, "") for name in (header if reviewed else header[:-2])])
    return _table(header, rows)


# https://github.com/Toloka/docs: result-of-eval.md in its guide, and GetAssignmentsTsvParameters.Field of toloka-kit.
TOLOKA_HEADER = [
    *("INPUT:text", "OUTPUT:result", "GOLDEN:result", "HINT:text", "HINT:default_language", "ASSIGNMENT:link"),
    *("ASSIGNMENT:task_id", "ASSIGNMENT:assignment_id", "ASSIGNMENT:worker_id", "ASSIGNMENT:status"),
    *("ASSIGNMENT:started", "ASSIGNMENT:submitted", "ASSIGNMENT:accepted", "ASSIGNMENT:reward"),
]
TOLOKA = _table(
    TOLOKA_HEADER,
    [
        [
            *(TEXTS[task], label, "pos" if task == "1" else "", "", "", "https://toloka.dev/task/9", f"0009--{task}"),
            *(f"asg{number}", worker, status, "2023-01-05T11:44:01.123", "2023-01-05T11:44:27.393", "", "0.01"),
        ]
        for number, (task, worker, label, status) in enumerate(
            [
                ("1", "w1", "pos", "APPROVED"),
                ("1", "w2", "neg", "APPROVED"),
                ("2", "w1", "neg", "APPROVED"),
                ("2", "w2", "neg", "REJECTED"),
                ("2", "w3", "", "SKIPPED"),
            ]
        )
    ],
    "\t",
)

# "Full Report" of a job with test questions, as in https://github.com/SuLab/crowdflower_relation_verification.
APPEN_HEADER = [
    *("_unit_id", "_created_at", "_golden", "_id", "_missed", "_started_at", "_tainted", "_channel", "_trust"),
    *("_worker_id", "_country", "_region", "_city", "_ip", "sentiment", "comment", "orig__golden", "sentiment_gold"),
    *("sentiment_gold_reason", "text"),
]
APPEN = _table(
    APPEN_HEADER,
    [
        [
            *(f"70{unit}", "6/30/2014 14:28:16", unit == "1", number, "", "6/30/2014 14:27:01", tainted, "clixsense"),
            *(
                "0.9167",
                worker,
                "GBR",
                "",
                "",
                "10.0.0.1",
                label,
                "",
                "",
                "pos" if unit == "1" else "",
                "",
                TEXTS[unit],
            ),
        ]
        for number, (unit, worker, label, tainted) in enumerate(
            [
                ("1", "881", "pos", "false"),
                ("1", "882", "neg", "true"),
                ("1", "883", "pos\nneg", "false"),
                ("2", "881", "neg", "false"),
                ("2", "882", "neg", "false"),
            ]
        )
    ],
)


def replaced(text: str, replacements: tuple[tuple[str, str], ...]) -> str:
    """Replace parts of a text, all of which must occur."""
    for old, new in replacements:
        assert old in text
        text = text.replace(old, new)
    return text

"""What the columns and statistics of the tables mean, in one place: tooltips, the page Glossary and the docs.

``python -m crowdcore.exhibits.glossary`` prints the page of the docs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from crowdcore import aggregation
from crowdcore.analysis.reference import REVIEWED

if TYPE_CHECKING:
    from crowdcore.exhibits.exhibit import Exhibit

__all__ = ["GLOSSARY", "as_markdown", "glossary", "meaning"]

_NAMES = {
    "task": "The item that was labelled.",
    "worker": "The annotator.",
    "class": "The class.",
    "true": "The task's class by the reference.",
    "given": "The label that workers gave.",
    "label": "The class that the worker gave, or that the labels of the task together say.",
    "gold": "The task's true class, as the data give it.",
    "reference": "The task's class by what is taken for the truth: gold, marks, an aggregator or a run.",
    "worker_a": "The first worker of the pair.",
    "worker_b": "The second worker of the pair.",
    "other": "The worker that this one is compared with.",
    "method": "The aggregator or training method.",
    "run": "The trained run.",
    "seed": "The random seed of one of the run's trainings.",
    "seeds": "How many trainings with different random seeds the run has.",
    "first": "The first of the two that are compared.",
    "second": "The second of the two that are compared.",
    "who": "The worker, or all workers together.",
    "source": "Where the confusion comes from.",
    "beside": "The same number of the other run.",
    "names": "How the run's classes got their names.",
    "text": "The beginning of the task's text.",
    "name": "What it is called.",
    "of": "What the row is about, or the number that the count is out of.",
    "what": "What the row says something about.",
    "meaning": "What it means, in words.",
    "row of the file": "Where the label stands in the file that was read.",
    "group": "The number of the group that the worker is in.",
}
_COUNTS = {
    "annotations": "How many labels were given.",
    "labels": "How many labels the task got, or the worker gave.",
    "tasks": "How many tasks the row rests on.",
    "workers": "How many workers there are behind the row; under a soft reference, the expected number.",
    "number": "How many got this verdict.",
    "times": "How many labels make this mistake; over time, when the labels were given.",
    "count": "How many labels are in this cell.",
    "answers": "How many different classes the task's labels name.",
    "blocks": "How many datasets or splits the ranks are averaged over.",
    "test tasks": "How many test tasks are of this class.",
    "both_labelled": "Tasks with a known class that both workers labelled.",
    "tasks both labelled": "Tasks with a known class that both workers labelled.",
    "classes both labelled": "True classes of which both workers labelled a task.",
    "both_wrong": "Tasks that both workers got wrong.",
    "wrong_alike": "Tasks that both workers got wrong with the same label.",
    "wrong alike": "Tasks that both workers got wrong with the same label.",
    "agreed": "Tasks to which both workers gave the same label, right or wrong.",
    "shared_rows": "True classes of which both workers labelled a task.",
    "compared": "Tasks that both labellings know.",
    "differ": "Tasks that the two labellings give different classes.",
    "first_right": "Differing tasks on which the first is right.",
    "second_right": "Differing tasks on which the second is right.",
    "only first right": "Test tasks that only the first run gets right.",
    "only second right": "Test tasks that only the second run gets right.",
}
_QUALITY = {
    "accuracy": "Share of the labels whose class is that of the reference, among those that can be judged.",
    "acc. low": "Lower end of the accuracy's 95 % Wilson interval.",
    "acc. high": "Upper end of the accuracy's 95 % Wilson interval.",
    "skill": "Mean of the diagonal of the worker's confusion π^r (trace regularisation, Fig. 7).",
    "skill κ": "Agreement with the truth beyond chance: 1 is perfect, 0 guessing; Cohen's kappa with gold.",
    "κ low": "Lower end of the 95 % interval of the skill κ.",
    "κ high": "Upper end of the 95 % interval of the skill κ.",
    "bits per label": "How much one label says about the true class, in bits and adjusted for chance.",
    "bits possible": "How many bits a perfect worker would give on these classes.",
    "agreement κ": "Agreement with the other workers on the same tasks, beyond what chance gives.",
    "with majority": "Share of the worker's labels that equal the majority vote of the others.",
    "signal": "Whether the labels look like a single answer or like guesses.",
    "accuracy without": "Change of the majority vote's accuracy if the worker is left out.",
    "labels changed without": "Labels of the majority vote that change if the worker is left out.",
    "labels changed": "Labels of the majority vote that change if these workers are left out.",
    "without": "What the majority vote is like without the worker.",
    "annotations left out": "Labels that these workers gave.",
    "tasks left without label": "Tasks that nobody else labelled.",
    "accuracy before": "Accuracy of the majority vote of all workers.",
    "accuracy after": "Accuracy of the majority vote without these workers.",
    "before": "The majority vote of all workers.",
    "after": "The majority vote without these workers.",
    "distance": "Mean squared difference of two confusions, or the distance that was chosen (CCC, Fig. 3).",
    "share of others": "The same share for all other workers together.",
}
_MISTAKES = {
    "percent": "Share of the workers who gave this label to at least one task of this class (CoNAL, Fig. 1).",
    "low": "Lower end of the 95 % interval.",
    "high": "Upper end of the 95 % interval.",
    "expected": "The number to expect if each worker erred independently.",
    "carriers": "How many tasks carry the finding: few mean that it rests on few tasks.",
    "p_workers": "Chance of so much sharing if workers err individually and tasks do not mislead.",
    "p_value": "Chance of a result at least as extreme if there is nothing to find.",
    "q_value": "The p-value after Benjamini–Hochberg: the share of false findings among all that are as sure.",
    "p_beyond": "Chance of so much agreement given both workers' skills and the tasks' difficulty.",
    "q_beyond": "The same chance after Benjamini–Hochberg: copying explains a pair with a small one.",
    "expected_beyond": "Tasks wrong alike to expect given skills, difficulty and misleading tasks.",
    "expected_agreed": "Tasks with the same label to expect given skills, difficulty and misleading tasks.",
    "share": "Share of the labels that the row is out of.",
    "share low": "Lower end of the 95 % interval of the share.",
    "share high": "Upper end of the 95 % interval of the share.",
    "share_std": "Standard deviation of the share over seeds.",
    "expected labels": "Labels to expect in this cell under the fitted posterior.",
    "sentence": "The mistake in words.",
}
_TASKS = {
    "verdict": "What to do: about a worker trust, train, check or remove; about a task take the label or relabel.",
    "reason": "Why the verdict was given.",
    "message": "What one could write to the worker.",
    "action": "What to do.",
    "how sure": "The interval or probability that the action rests on.",
    "effect": "What the action changes.",
    "probability": "How probable the named class is by the reference or the labels together, q_i(c).",
    "probability of label": "How probable the worker's label is by the reference, q_i(c).",
    "second label": "The most frequent other label of the task.",
    "its share": "Share of the task's labels that are the second label.",
    "most_given": "The most frequent label of the task; of ties, the first class.",
    "most given": "The most frequent label of the task; of ties, the first class.",
    "share of labels": "Share of the task's labels that are of this class.",
    "wrong": "Share of the task's labels that differ from the reference.",
    "entropy": "Spread of the labels in nats: 0 if all agree.",
    "entropy (nats)": "Entropy in nats of all labels of tasks of this class (CoNAL, App. C).",
    "true share": "Share of the tasks that are of this class.",
    "given share": "Share of the labels that are of this class.",
    "mark": "What somebody said of the task: right, wrong or unclear.",
    "right class": "The class that somebody marked as right.",
    "comment": "What somebody wrote beside the mark.",
    "by": "Who marked.",
    "at": "When it was marked, in UTC.",
    "gain": "Chance that labelling the task again corrects its label: 1 minus the label's probability, 1 against gold.",
    "class by the run": "The most probable class by the run.",
    "first_probability": "How probable the first labelling's class is to it.",
    "second_probability": "How probable the second labelling's class is to it.",
}
_FITS = {
    "iterations": "Steps of the algorithm.",
    "iteration": "Step of the algorithm.",
    "converged": "Whether the algorithm came to rest.",
    "stopped": "Why the algorithm stopped.",
    "seconds": "How long it took.",
    "log-likelihood": "Logarithm of the probability of all labels under the fitted model; compare within a method.",
    "log_likelihood": "Logarithm of the probability of all labels under the fitted model at this step.",
    "calibration error": "Mean gap between confidence and accuracy, over bins of equally many tasks.",
    "confidence": "Mean probability of the most probable class in this bin.",
    "from": "Where the bin or the change begins.",
    "to": "Where the bin or the change ends.",
    "gained": "Tasks that are right here and wrong by the majority vote.",
    "lost": "Tasks that are wrong here and right by the majority vote.",
    "warnings": "What speaks against believing the fit.",
    "coefficient": "Which measure of agreement it is.",
    "value": "The value of the measure.",
    "95 % interval": "Interval that covers the true value in 95 of 100 samples, over tasks.",
    "state": "How much agreement the value stands for, in words.",
}
_TRAINING = {
    "selected": "At the epoch that validation chose.",
    "last": "At the last epoch.",
    "best": "At the epoch that is best on test data: optimistic.",
    "best, optimistic": "At the epoch that is best on test data: optimistic.",
    "selected by": "Which validation labels chose the epoch.",
    "selected epoch": "The epoch that validation chose.",
    "accuracy mean": "Mean accuracy over seeds.",
    "accuracy std": "Standard deviation of the accuracy over seeds.",
    "accuracy last": "Accuracy at the last epoch.",
    "macro F1": "Mean over classes of the harmonic mean of precision and recall.",
    "NLL (nats)": "Mean negative log-probability of the true class, in nats: lower is better.",
    "epoch": "Pass over the training tasks.",
    "epochs": "Passes over the training tasks.",
    "test_accuracy mean": "Mean test accuracy over seeds.",
    "test_accuracy std": "Standard deviation of the test accuracy over seeds.",
    "seconds per seed": "Training time divided by the number of seeds.",
    "annotations/s": "Labels that the training went through per second.",
    "backbone": "The network that the classifier rests on.",
    "device": "What it was trained on.",
    "crowdcore": "The version that trained it.",
    "difference (points)": "First minus second, in percentage points.",
    "change (points)": "To minus from, in percentage points.",
    "p": "Chance of such a difference if the two are equally good.",
    "adjusted p": "The p-value after correction for the number of comparisons.",
    "McNemar p": "Chance of such an imbalance of tasks that only one gets right, if both are equally good.",
    "McNemar adjusted p": "McNemar's p-value after correction for the number of comparisons.",
    "p over seeds (Holm)": "Chance of such a change over seeds, corrected by Holm's method.",
    "p over tasks (Holm)": "Chance of such a change over tasks, corrected by Holm's method.",
    "mean_rank": "Mean rank over blocks: 1 is best.",
    "rank": "Place in the order, the first is 1.",
    "rank from": "Rank before.",
    "rank to": "Rank after.",
    "candidate": "A method that was tried.",
    "chosen in": "Share of the seeds that chose this method.",
    "validation": "Accuracy on validation labels.",
    "log-likelihood of a task's labels": "Mean log-probability of the labels of a held-out task.",
}
_RECOVERY = {
    "omega": "Probability ω that a label follows the common confusion instead of the worker's own.",
    "omega_std": "Standard deviation of ω over seeds.",
    "mean ω": "Mean of ω over the labels of the task, worker or class (CoNAL, Fig. 10).",
    "half": "Whether the task is in the upper or the lower half by ω.",
    "top": "Tasks of this class in the half with the larger ω.",
    "bottom": "Tasks of this class in the half with the smaller ω.",
    "5 %": "The value that 5 % lie below.",
    "25 %": "The value that 25 % lie below.",
    "50 %": "The median.",
    "75 %": "The value that 75 % lie below.",
    "95 %": "The value that 95 % lie below.",
    "common noise": "Share of the worker's noise that follows the common confusion.",
    "observed share": "The share counted with the reference.",
    "observed skill": "The skill counted with the reference.",
    "observed_skill": "The skill counted with the reference.",
    "learned_skill": "The skill that the run has learnt.",
    "learned_skill_std": "Standard deviation of the learnt skill over seeds.",
    "true skill": "The skill that generated the labels.",
    "skill of the other run": "The skill that the other run has learnt.",
    "classes": "True classes that the skill rests on.",
    "difference": "One confusion minus the other.",
    "distance from common": "Mean squared difference from the common confusion.",
    "distance from observed": "Mean squared difference from the confusion counted with the reference.",
    "correction": "What the method adds to the worker's confusion.",
    "skill correlation": "Correlation of the learnt with the true skills of the workers.",
    "ω correlation": "Correlation of the learnt with the true ω.",
    "planted": "What generated the labels.",
    "error": "Mean squared distance of the rows of the learnt confusion from the true ones.",
}
_PARTS = {
    "Who and what": _NAMES,
    "Counts": _COUNTS,
    "Workers": _QUALITY,
    "Mistakes, and what chance explains": _MISTAKES,
    "Tasks and verdicts": _TASKS,
    "Aggregators and agreement": _FITS,
    "Training": _TRAINING,
    "Recovery": _RECOVERY,
}
GLOSSARY: Mapping[str, str] = {name: words for part in _PARTS.values() for name, words in part.items()}
"""Column -> what it means."""


def meaning(column: str) -> str:
    """What a column means, by its name; empty where nobody has said, as of a further column of a file.

    Examples:
        >>> from crowdcore.exhibits.glossary import meaning
        >>> meaning("κ low")
        'Lower end of the 95 % interval of the skill κ.'
    """
    name = column.removesuffix(" %") if column not in GLOSSARY else column
    if name in GLOSSARY:
        return GLOSSARY[name]
    base = meaning(name.removesuffix(" ±").removesuffix("±")) if name.endswith("±") else ""
    if base:
        return f"Standard deviation over seeds. {base}"
    if column.startswith("agrees with "):
        return "Whether the label is the class by the reference."
    kind = column.split()[0] if column.strip() else ""
    return GLOSSARY["reference"] if kind in {*REVIEWED, *aggregation.names()} or column.startswith("run:") else ""


def glossary() -> Exhibit:
    """All columns and what they mean."""
    import pandas as pd

    from crowdcore.exhibits.exhibit import Exhibit

    rows = [(name, words, part) for part, entries in _PARTS.items() for name, words in entries.items()]
    return Exhibit("glossary", "Glossary", None, pd.DataFrame(rows, columns=["column", "meaning", "about"]))


def as_markdown() -> str:
    """The page of the docs."""
    head = (
        "# Glossary\n\nWhat each column of a table means. The app shows the same sentence when the pointer rests on a "
        "column's name.\nA column with ± is the standard deviation over seeds of the one without.\n"
    )
    parts = [
        f"\n## {part}\n\n| column | meaning |\n|---|---|\n"
        + "".join(f"| {name} | {words} |\n" for name, words in entries.items())
        for part, entries in _PARTS.items()
    ]
    return head + "".join(parts)


if __name__ == "__main__":
    print(as_markdown(), end="")

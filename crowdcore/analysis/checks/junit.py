"""A check as JUnit XML, which continuous integration shows as tests."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from crowdcore.analysis.checks.check import Check

_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit_xml(found: Check, strict: bool = False) -> str:
    """One test per rule: a failure where it failed, skipped where the data cannot tell (a failure when strict).

    Examples:
        >>> import crowdcore as cc
        >>> from crowdcore.analysis import junit_xml
        >>> found = cc.check(cc.load_dataset("demo"), {"min_krippendorff_alpha": 0.9})
        >>> 'failures="1"' in junit_xml(found)
        True
    """
    failed = found.failed(strict)
    skipped = [o for o in found.outcomes if o.verdict == "underpowered" and o not in failed]
    counts = {"tests": len(found.outcomes), "failures": len(failed), "errors": 0, "skipped": len(skipped)}
    suite = ElementTree.Element("testsuite", {"name": _legal(f"crowdcore check {found.dataset}")})
    suite.attrib |= {name: str(n) for name, n in counts.items()}
    for outcome in found.outcomes:
        case = ElementTree.SubElement(suite, "testcase", {"classname": "crowdcore.check", "name": outcome.rule})
        if outcome.verdict != "pass":
            kind = "failure" if outcome in failed else "skipped"
            said = ElementTree.SubElement(case, kind, {"message": _legal(outcome.sentence), "type": outcome.verdict})
            said.text = _legal("\n".join(found.workers_of(outcome)))
        else:
            ElementTree.SubElement(case, "system-out").text = _legal(outcome.sentence)
    root = ElementTree.Element("testsuites")
    root.append(suite)
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _legal(text: str) -> str:
    return _NO_XML.sub("\ufffd", text)

"""A check as an HTML page and as JUnit XML, which continuous integration shows as tests."""

from __future__ import annotations

import re
from html import escape
from xml.etree import ElementTree

from crowdcore.analysis.checks.check import Check, Outcome

_STYLE = """
:root { color-scheme: light dark; --pass: light-dark(#1a7f37, #4ac26b); --fail: light-dark(#b3261e, #ff8a80);
  --underpowered: light-dark(#8a5a00, #e3b341); --line: light-dark(#d0d7de, #3d444d) }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem }
table { border-collapse: collapse; width: 100% }
th, td { text-align: left; vertical-align: top; padding: .5rem .75rem .5rem 0; border-bottom: 1px solid var(--line) }
.pass { color: var(--pass) } .fail { color: var(--fail) } .underpowered { color: var(--underpowered) }
td:nth-child(2) { font-weight: 600 } code { font-size: .9em }
"""


def check_page(result: Check, strict: bool = False) -> str:
    """The page: what failed first, then what the data cannot tell, then what passed.

    Examples:
        >>> import crowdcore as cc
        >>> from crowdcore.analysis import check_page
        >>> "at least 0.9 is wanted" in check_page(cc.check(cc.load_dataset("demo"), {"min_krippendorff_alpha": 0.9}))
        True
    """
    order = ("fail", "underpowered", "pass")
    rows = "".join(_row(result, o) for o in sorted(result.outcomes, key=lambda o: order.index(o.verdict)))
    counts = ", ".join(f"{sum(o.verdict == v for o in result.outcomes)} {v}" for v in order)
    verdict = "fail" if result.failed(strict) else "pass"
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(result.dataset)}: {verdict}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n<main>\n"
        f'<h1>{escape(result.dataset)}: <span class="{verdict}">{verdict}</span></h1>\n'
        f"<p>{counts}{'; underpowered counts as a failure' if strict else ''}. {result.n_annotations:,} annotations, "
        f"reference {escape(result.reference)}, fingerprint <code>{result.fingerprint}</code>.</p>\n"
        "<table>\n<thead><tr><th>Rule</th><th>Verdict</th><th>Why</th></tr></thead>\n"
        f"<tbody>\n{rows}</tbody>\n</table>\n</main>\n</body>\n</html>\n"
    )


def _row(result: Check, outcome: Outcome) -> str:
    named = ", ".join(result.workers_of(outcome))
    workers = f"<br>Workers: {escape(named)}" if named else ""
    rule, verdict = outcome.rule.replace("_", "_<wbr>"), outcome.verdict
    return (
        f'<tr><td><code>{rule}</code></td><td class="{verdict}">{verdict}</td>'
        f"<td>{escape(outcome.sentence)}{workers}</td></tr>\n"
    )


_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit_xml(result: Check, strict: bool = False) -> str:
    """One test per rule: a failure where it failed, skipped where the data cannot tell (a failure when strict).

    Examples:
        >>> import crowdcore as cc
        >>> from crowdcore.analysis import junit_xml
        >>> result = cc.check(cc.load_dataset("demo"), {"min_krippendorff_alpha": 0.9})
        >>> 'failures="1"' in junit_xml(result)
        True
    """
    failed = result.failed(strict)
    skipped = [o for o in result.outcomes if o.verdict == "underpowered" and o not in failed]
    counts = {"tests": len(result.outcomes), "failures": len(failed), "errors": 0, "skipped": len(skipped)}
    suite = ElementTree.Element("testsuite", {"name": _legal(f"crowdcore check {result.dataset}")})
    suite.attrib |= {name: str(n) for name, n in counts.items()}
    for outcome in result.outcomes:
        case = ElementTree.SubElement(suite, "testcase", {"classname": "crowdcore.check", "name": outcome.rule})
        if outcome.verdict != "pass":
            kind = "failure" if outcome in failed else "skipped"
            element = ElementTree.SubElement(case, kind, {"message": _legal(outcome.sentence), "type": outcome.verdict})
            element.text = _legal("\n".join(result.workers_of(outcome)))
        else:
            ElementTree.SubElement(case, "system-out").text = _legal(outcome.sentence)
    root = ElementTree.Element("testsuites")
    root.append(suite)
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _legal(text: str) -> str:
    return _NO_XML.sub("\ufffd", text)

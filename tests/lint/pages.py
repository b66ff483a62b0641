# SPDX-License-Identifier: Apache-2.0
"""What is wrong with the pages: links that lead nowhere, and words that only insiders know.

    python3 tests/lint/pages.py PAGE.md …      prints a finding a line
"""
import functools
import pathlib
import re
import sys

# Each with what to write in its place.
WORDS = {r"\bare no ways\b|\bis no way\b": "say what does not count", r"\btook what\b": "say what it took",
         r"/(?:home|root|work)/\w": "a path of one machine", r"\bpypi\.org\b|\bdeb\.debian\.org\b": "a host",
         r"\b(?:issue|ticket) #?\d+\b": "a number of an issue", r"\bobviously\b|\bsimply\b": "leave it out"}


def without_code(text):
    """A page without what stands in code."""
    return re.sub(r"```.*?```|`[^`\n]*`", lambda found: "\n" * found.group(0).count("\n"), text, flags=re.S)


def links_of(text):
    """Targets of links and pictures."""
    return re.findall(r"\]\(([^)\s]+)\)", without_code(text))


@functools.cache
def anchors_of(page):
    """Names by which the headings of a page are linked to, as code hosts make them."""
    text = page.read_text(encoding="utf-8")
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
            for heading in re.findall(r"^#+ +(.*)$", text, re.M)}


def fault_of(page, link):
    """What is wrong with a link of a page; empty = nothing. Other hosts are not asked."""
    if "://" in link or link.startswith("mailto:"):
        return ""
    path, _, anchor = link.partition("#")
    target = page.parent / path if path else page
    if not target.exists():
        return f"there is no {path}"
    return "" if not anchor or anchor in anchors_of(target) else f"{path or page.name} has no heading #{anchor}"


def findings_of(page):
    """Every finding of a page."""
    text = page.read_text(encoding="utf-8")
    found = [fault for fault in (fault_of(page, link) for link in links_of(text)) if fault]
    lines = without_code(text).split("\n")
    for pattern, remedy in WORDS.items():
        found += [f"line {number}: \"{hit.group(0)}\": {remedy}" for number, line in enumerate(lines, 1)
                  for hit in re.finditer(pattern, line, re.I)]
    return found


if __name__ == "__main__":
    for name in sys.argv[1:]:
        for finding in findings_of(pathlib.Path(name)):
            print(f"{name}: {finding}")

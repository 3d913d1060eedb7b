# SPDX-License-Identifier: GPL-2.0-or-later
"""The forms that a frame takes from a file to an encoder, which docs/architecture.md lists with the files that make them."""
import re

from .swift_code import code

MAX_FORMS = 7
TABLE = re.compile(r"^\| form \| made in \| holds \|\n\|[-|]+\|\n((?:\|.*\|\n)+)", re.MULTILINE)


def frame_forms(text):
    """Names of forms and of files in the table's order; nil without a table."""
    table = TABLE.search(text)
    if not table:
        return None
    rows = [[cell.strip(" `") for cell in line.strip("|").split("|")] for line in table.group(1).splitlines()]
    return [(row[0], row[1]) for row in rows]


def check(document, sources, complain):
    """Complains of what is wrong with the table; returns the number of forms."""
    forms = frame_forms(document)
    if forms is None:
        complain("docs/architecture.md has no table '| form | made in | holds |'")
        return 0
    for fault in faults(forms, sources):
        complain(fault)
    return len(forms)


def faults(forms, sources):
    """What is wrong with the table.

    sources: the text of each Swift file below Sources, by its path.
    """
    if len(forms) > MAX_FORMS:
        yield f"a frame has {len(forms)} forms from a file to an encoder; {MAX_FORMS} is the limit"
    for form, file in forms:
        text = next((code(text) for path, text in sources.items() if path.endswith("/" + file)), None)
        if text is None:
            yield f"{form} is made in {file}, which does not exist"
            continue
        for name in form.split("."):
            # What Swift does not declare is C's, in a file that imports its header.
            declaration = re.compile(rf"\b(?:struct|class|enum)\s+{name}\b")
            if not re.search(rf"\b{name}\b", text):
                yield f"{form} is made in {file}, which does not name {name}"
            elif not any(declaration.search(text) for text in sources.values()) and "import CHWD" not in text:
                yield f"{form} is no type"

# SPDX-License-Identifier: GPL-2.0-or-later
"""Finds types of one name in modules that meet: a reader, or a compiler that sees both, cannot say which one is meant."""
import itertools
import re

from .swift_code import code, line_of

BRACE = re.compile(r"[{}]")
ATTRIBUTE, MODIFIER = r"@\w+(?:\([^)\n]*\))?\s+", r"[a-z]+(?:\(\w+\))?[ \t]+"
TYPE = re.compile(rf"^[ \t]*((?:{ATTRIBUTE}|{MODIFIER})*?)(?:struct|class|enum|actor|protocol|typealias)[ \t]+`?(\w+)", re.MULTILINE)


def top_level_types(text):
    """Name and line of each type that a file declares at its top level and that other files see."""
    text = code(text)
    outside, depth, place = [], 0, 0
    for brace in BRACE.finditer(text):
        if depth == 0:
            outside.append(text[place:brace.start()])
        else:
            outside.append(re.sub(r"[^\n]", " ", text[place:brace.start()]))
        outside.append(" ")
        depth, place = depth + (1 if brace.group() == "{" else -1), brace.end()
    text = "".join(outside) + text[place:]
    return [(match.group(2), line_of(text, match.start(2))) for match in TYPE.finditer(text)
            if not re.search(r"\b(private|fileprivate|import)\b", match.group(1))]


def types_of_one_name(types, imports):
    """Pairs of modules that both declare a type, as (name, one, other, why they meet).

    `types` has each module's names, `imports` what each module of the package imports, tests among them.
    """
    for one, other in itertools.combinations(sorted(types), 2):
        names = types[one].keys() & types[other].keys()
        why = names and meeting(one, other, imports)
        if why:
            yield from ((name, one, other, why) for name in sorted(names))


def meeting(one, other, imports):
    """Why a reader or a compiler may see the types of both modules; None where nobody does."""
    for importer, imported in ((one, other), (other, one)):
        if imported in reachable(importer, imports):
            return f"{importer} imports {imported}" + ("" if imported in imports[importer] else " through others")
    for third in sorted(imports):
        if {one, other} <= imports[third]:
            return f"{third} imports both"
    return None


def reachable(module, imports):
    """What a module imports, directly or through others."""
    found, waiting = set(), [module]
    while waiting:
        for name in imports.get(waiting.pop(), set()) - found:
            found.add(name)
            waiting.append(name)
    return found

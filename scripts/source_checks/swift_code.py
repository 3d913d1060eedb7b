# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads Swift and C just far enough to count: comments and strings blanked out, brackets matched."""
import functools
import re

NO_CODE = re.compile(r'//|/\*|#*"')
BRACKET = re.compile(r"[(\[{}\])]")


def end_of_string(text, start):
    """Where the string literal ends that begins at `start`; interpolations may hold strings of their own."""
    hashes = re.compile(r"#*").match(text, start).group()
    quote = '"""' if text.startswith('"""', start + len(hashes)) else '"'
    place, closing, interpolation = start + len(hashes) + len(quote), quote + hashes, "\\" + hashes + "("
    while place < len(text):
        if text.startswith(closing, place):
            return place + len(closing)
        if text.startswith(interpolation, place):
            place = end_of_interpolation(text, place + len(interpolation))
        elif text[place] == "\\" and not hashes:
            place += 2
        elif text[place] == "\n" and quote == '"':
            return place
        else:
            place += 1
    return place


def end_of_interpolation(text, place):
    depth = 1
    while place < len(text) and depth > 0:
        if text[place] == '"':
            place = end_of_string(text, place)
            continue
        depth += {"(": 1, ")": -1}.get(text[place], 0)
        place += 1
    return place


def end_of_comment(text, place):
    """Block comments nest in Swift."""
    depth = 0
    while place < len(text):
        if text.startswith("/*", place):
            depth, place = depth + 1, place + 2
        elif text.startswith("*/", place):
            depth, place = depth - 1, place + 2
            if depth == 0:
                break
        else:
            place += 1
    return place


@functools.cache
def code(text):
    """The text with comments and strings blanked out; line numbers stay."""
    result, place = [], 0
    while match := NO_CODE.search(text, place):
        start = match.start()
        if match.group() == "//":
            end = text.find("\n", start)
            end = len(text) if end < 0 else end
        elif match.group() == "/*":
            end = end_of_comment(text, start)
        else:
            end = end_of_string(text, start)
        result += [text[place:start], re.sub(r"[^\n]", " ", text[start:end])]
        place = end
    return "".join(result) + text[place:]


def end_of_group(text, place):
    """Where the bracket closes that opens at `place`."""
    depth = 0
    for bracket in BRACKET.finditer(text, place):
        depth += 1 if bracket.group() in "([{" else -1
        if depth == 0:
            return bracket.end()
    return len(text)


def body(text, place):
    """Where a function's body opens, given the place after its parameters; None for a requirement of a protocol."""
    while place < len(text):
        character = text[place]
        if character == "{":
            return place
        if character in "};=":
            return None
        if character in "([":
            place = end_of_group(text, place)
            continue
        if character == "\n":
            line = text[text.rfind("\n", 0, place) + 1:place].rstrip()
            following = text[place:].lstrip()
            goes_on = re.search(r"(->|[,(:&]|\bwhere)$", line) or re.match(r"(->|where\b|async\b|throws\b|rethrows\b|\{)", following)
            if not goes_on:
                return None
        place += 1
    return None


def count_parameters(parameters):
    depth, count = 0, 1 if parameters.strip() else 0
    # The arrow of a function type closes nothing.
    for character in parameters.replace("->", "  "):
        depth += {"(": 1, "[": 1, "{": 1, "<": 1, ")": -1, "]": -1, "}": -1, ">": -1}.get(character, 0)
        count += character == "," and depth == 0
    return count


def line_of(text, place):
    return text.count("\n", 0, place) + 1

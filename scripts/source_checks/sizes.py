# SPDX-License-Identifier: GPL-2.0-or-later
"""Measures types with their extensions, and lists of parameters of initializers and of C functions."""
import re

from .swift_code import code, count_parameters, end_of_group, line_of

MAX_TYPE_LINES = 700
MAX_LIST = 8
# Lists that are longer for now, by file; each number may only fall.
LONGER_LISTS = {
    "Sources/Base/Model/ComputeDevice.swift": 9,
    "Sources/Base/Model/Probe.swift": 10,
    "Sources/Base/Wire/ProbeMessages.swift": 13,
    "Sources/Base/Wire/WorkerSessionMessages.swift": 11,
    "Sources/Base/Wire/Workers/OutputSample.swift": 10,
    "Sources/Media/Metadata/Tracks/MediaDescription.swift": 22,
    "Sources/Rules/Coding/Decoding/PictureDecoder.swift": 12,
    "Sources/Shaders/Color/ConversionOptions.swift": 10,
}

DECLARATION = re.compile(r"^(?:@\w+(?:\([^)\n]*\))?\s+|[a-z]+(?:\(\w+\))?[ \t]+)*(?:struct|class|enum|actor|extension)[ \t]+([\w.]+)[^{\n]*(?:\n[^{}\n]*)?\{",
                         re.MULTILINE)
INITIALIZER = re.compile(r"(?<![.\w`])init[?!]?(?=\s*[<(])")
# A definition begins at the first column, as clang-format lays it out.
C_FUNCTION = re.compile(r"^(?!typedef|return|else|#)[A-Za-z_][\w\s*]*?\b(\w+)\(([^;{}]*?)\)\s*(?:[A-Z_]+\s*)?\{", re.MULTILINE)


def lines_of_types(files):
    """Lines of each type of a module with its extensions there, by module and name; `files` has texts by module and file."""
    sizes = {}
    for module, _, text in files:
        text = code(text)
        for match in DECLARATION.finditer(text):
            end = end_of_group(text, match.end() - 1)
            lines = line_of(text, end - 1) - line_of(text, match.start()) + 1
            key = (module, match.group(1))
            sizes[key] = sizes.get(key, 0) + lines
    return sizes


def check_types(files, complain):
    """Complains of types that are too large; returns the largest, and its lines."""
    sizes = lines_of_types(files)
    for (module, name), lines in sorted(sizes.items()):
        if lines > MAX_TYPE_LINES:
            complain(f"{name} of {module} has {lines} lines with its extensions; {MAX_TYPE_LINES} is the limit")
    largest = max(sizes, key=sizes.get)
    return largest[1], sizes[largest]


def lists_of(name, text):
    """Parameters and line of each initializer, or of each function in C."""
    text = code(text)
    if name.endswith(".swift"):
        for match in INITIALIZER.finditer(text):
            place = text.find("(", match.end())
            yield count_parameters(text[place + 1:end_of_group(text, place) - 1]), line_of(text, match.start())
    else:
        for match in C_FUNCTION.finditer(text):
            yield count_parameters(match.group(2)), line_of(text, match.start(1))


def check_lists(files, complain):
    """Complains of lists that are too long; returns the longest of a file without an exception. `files` has texts by name."""
    longest = 0
    for name, text in files.items():
        limit = LONGER_LISTS.get(name, MAX_LIST)
        present = 0
        for count, line in lists_of(name, text):
            present = max(present, count)
            if count > limit:
                complain(f"{name}:{line}: a list of {count} parameters; {limit} is the limit")
        if name not in LONGER_LISTS:
            longest = max(longest, present)
        elif present < limit:
            complain(f"{name}: the longest list has {present} parameters; source_checks/sizes.py allows {limit}")
    for name in sorted(set(LONGER_LISTS) - set(files)):
        complain(f"{name}, which source_checks/sizes.py names, does not exist")
    return longest

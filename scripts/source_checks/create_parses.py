# SPDX-License-Identifier: GPL-2.0-or-later
"""Counts how often a Create call is parsed as JSON: each call of the parser on its path is named here, with what it parses."""
import re

from .swift_code import code, line_of

BOUND = 2
# The files that a Create call passes, from the client's connection to the session's rules.
PATH = (
    "Sources/Base/Wire/Varlink.swift",
    "Sources/Base/Wire/Workers/WorkerMessages.swift",
    "Sources/HWDaemon/Broker/Connections/ClientConnection.swift",
    "Sources/HWDaemon/Broker/Service/Broker*.swift",
    "Sources/HWDaemon/Broker/Sessions/*.swift",
    "Sources/HWDaemon/Worker/*.swift",
    "Sources/HWDaemon/[DET]*coder/*.swift",
    "Sources/HWDaemon/Transfer/*.swift",
)
# The parses of the call: file, function and what the parser is called with.
CREATE = {
    ("Varlink.swift", "init", "JSON.decode(Envelope"),
    ("WorkerStartup.swift", "run", "JSON.decode(SessionAssignment"),
}
# What else is parsed in these files.
OTHER = {
    ("Varlink.swift", "checkedParameters", "JSON.value(type"),  # The text {}, where a call has no parameters.
    ("Varlink.swift", "isError", "JSON.decode(IncomingError"),
    ("Varlink.swift", "decode", "JSON.decode(IncomingError"),
    ("Varlink.swift", "decode", "JSON.decode(Incoming"),
    ("Varlink.swift", "decode", "JSON.decode(type"),
    ("SessionWorker.swift", "handle", "JSON.decode(WorkerReport"),
    ("OutputCheck.swift", "receive", "JSON.decode(OutputFinding"),
    ("WorkerStartup.swift", "rehearsal", "JSON.decode(SessionAssignment"),
    ("WorkerStartup.swift", "receiveSandbox", "JSON.decode(SandboxRequest"),
    ("BrokerQuestions.swift", "ask", "JSON.decode(type"),
    ("SessionPort.swift", "decode", "JSON.decode(type"),
}
# Parses a call, so that it has one place.
PARSED = ("ClientConnection.swift", "serve", "VarlinkCall(decoding")

PARSER = re.compile(r"\b(?:JSON\.(?:decode|value)|JSONDecoder|JSONSerialization)\b(?:\(\s*\w+)?|\bVarlinkCall\(decoding")
FUNCTION = re.compile(r"\bfunc\s+`?(\w+)|\b(init)[?!]?(?=\s*[<(])")


def parses(text):
    """Function, call and line of each use of the parser in a file."""
    text = code(text)
    for match in PARSER.finditer(text):
        before = [found.group(1) or found.group(2) for found in FUNCTION.finditer(text, 0, match.start())]
        yield before[-1] if before else "", re.sub(r"\s", "", match.group()), line_of(text, match.start())


def check(files, complain):
    """Complains of each parse that no table names and of each named one that is gone; returns the number of parses.

    `files` has the text of each file on the path by its relative name.
    """
    found = set()
    for name, text in sorted(files.items()):
        for function, call, line in parses(text):
            place = (name.rsplit("/", 1)[-1], function, call)
            found.add(place)
            if place not in CREATE | OTHER | {PARSED}:
                complain(f"{name}:{line}: {function} parses JSON ({call}) where a Create call passes; "
                         "source_checks/create_parses.py names all such places")
    for file, function, call in sorted((CREATE | OTHER | {PARSED}) - found):
        complain(f"source_checks/create_parses.py names {call} in {function} of {file}, which does not exist")
    count = len(CREATE & found)
    if count > BOUND:
        complain(f"a Create call is parsed {count} times; {BOUND} is the limit")
    return count

# SPDX-License-Identifier: GPL-2.0-or-later
"""Names of source files in documents."""
import re

# A file of code, or a path below a module: `Policy/Choice`. The end of a path is enough.
SOURCE_NAME = re.compile(r"[\w+./-]*\.(?:swift|c|h|py|comp|glsl)|[A-Z]\w+/[\w+./-]+")


def missing_sources(text, paths):
    """The names of files and folders in a document that end no path, with their lines."""
    folders = {path[:index] for path in paths for index, sign in enumerate(path) if sign == "/"}
    endings = {path[index:] for path in folders.union(paths) for index in range(len(path))
               if index == 0 or path[index - 1] == "/"}
    for number, line in enumerate(text.splitlines(), 1):
        for name in re.findall(r"`([^`\s]+)`", line):
            if SOURCE_NAME.fullmatch(name) and not name.startswith(("/", ".")) and name.rstrip("/") not in endings:
                yield number, name

# SPDX-License-Identifier: GPL-2.0-or-later
"""The drawing of the groups of modules in docs/architecture.md, which is made from the imports."""
import re

BEGIN = "<!-- modules by group; written by scripts/check-sources --update-table -->"
END = "<!-- end of the modules by group -->"
PLACE = re.compile(f"{re.escape(BEGIN)}\n.*?{re.escape(END)}\n", re.DOTALL)


def imports_of_groups(order, groups, imports):
    """The groups that each group imports from; `groups` has each module's."""
    result = {group: set() for group in order}
    for module, names in imports.items():
        result[groups[module]] |= {groups[name] for name in names} - {groups[module]}
    return result


def draw(order, groups, imports):
    """A line for each group: its modules and where it imports from."""
    needed = imports_of_groups(order, groups, imports)
    modules = {group: " ".join(sorted((name for name in groups if groups[name] == group), key=str.lower)) for group in order}
    name_width, module_width = max(map(len, order)), max(map(len, modules.values()))
    lines = []
    for group in order:
        line = f"    {group:{name_width}}  {modules[group]:{module_width}}"
        if needed[group]:
            line += "  ← " + " ".join(sorted(needed[group], key=order.index))
        lines.append(line.rstrip() + "\n")
    return "".join([BEGIN, "\n\n", *lines, "\n", END, "\n"])

#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Every member of x265_param in the installed x265.h is read or refused by the sources, or named in docs/x265.md."""
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent.parent


def members(header):
    """Names of x265_param's members, those of its inner structures included."""
    text = re.sub(r"/\*.*?\*/", "", header, flags=re.DOTALL)
    body = re.search(r"typedef struct x265_param\s*\{(.*?)\n\} x265_param;", text, re.DOTALL).group(1)
    names = re.findall(r"(?:int|uint32_t|uint16_t|double|float|char\s*\*|FILE\s*\*|void\s*\*|x265_zone\s*\*)\s*(\w+)(?:\[\d+\])?\s*;", body)
    if len(names) < 200:
        sys.exit(f"parameters.py: only {len(names)} members are found in x265.h")
    return names


folder = subprocess.run(["pkg-config", "--variable=includedir", "x265"], check=True, capture_output=True, text=True).stdout.strip()
known = "".join(path.read_text() for path in sorted((ROOT / "Clients/x265/src").glob("*.c")))
known += (ROOT / "docs/x265.md").read_text()
missing = [name for name in members((Path(folder) / "x265.h").read_text(errors="replace")) if not re.search(rf"\b{name}\b", known)]
for name in missing:
    print(f"parameters.py: x265_param has {name}, which is neither mapped nor refused nor listed in docs/x265.md", file=sys.stderr)
sys.exit(bool(missing))

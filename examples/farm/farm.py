# SPDX-License-Identifier: GPL-2.0-or-later
"""What the examples for Ray and Dask share: arguments, the command of a segment, and joining."""
import argparse
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path


@dataclass
class Request:
    """A video to encode."""

    source: str
    output: str
    count: int
    folder: str
    options: list

    @classmethod
    def prepare(cls, arguments):
        """Makes the folder of the parts, beside the output."""
        folder = Path(arguments.output + ".parts").absolute()
        folder.mkdir(exist_ok=True)
        return cls(str(Path(arguments.source).absolute()), str(Path(arguments.output).absolute()), arguments.count,
                   str(folder), arguments.options)


def parse(description):
    """The arguments of the command line; what follows -- are options of hwctl encode."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", metavar="INPUT")
    parser.add_argument("output", metavar="OUTPUT")
    parser.add_argument("count", metavar="N", type=int)
    parser.add_argument("--address", help="of a cluster; without it, processes of this machine")
    parser.add_argument("--workers", type=int, default=4, help="how many processes (4)")
    words = sys.argv[1:]
    place = words.index("--") if "--" in words else len(words)
    arguments = parser.parse_args(words[:place])
    arguments.options = words[place + 1:]
    return arguments


def command(hwctl, request, number):
    """The command that encodes a segment; it keeps a part that is complete."""
    return [hwctl, "encode", "-q", "--no-progress", "--segment", f"{number}/{request.count}", *request.options,
            request.source, f"{request.folder}/part-{number}.mov"]


def join(hwctl, request):
    """Joins the parts and removes them; returns hwctl's status."""
    parts = sorted(str(part) for part in Path(request.folder).glob("part-*.mov"))
    status = subprocess.run([hwctl, "join", "-y", request.output, *parts, "--from", request.source], check=False).returncode
    if status == 0:
        shutil.rmtree(request.folder)
    return status

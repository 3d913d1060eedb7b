# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads what strace writes."""
import re

# What NVIDIA's driver and CUDA try and do without: links to its nodes, a library that a debugger would have it
# load, sockets by which processes share memory. The others are calls whose failure every program here expects.
HARMLESS = re.compile(r'"(/dev/char/|/dev/shm/cuda_injection|/root/\.nv|/[^"]*/\.nv/|/tmp/nvidia-mps)'
                      r'|^(socket|connect|clone3|sched_setaffinity)\(')


def calls(trace):
    """The calls in strace's output, whole: one that another thread interrupted is in two lines."""
    begun = {}
    for line in trace.splitlines():
        process, _, call = line.partition(" ")
        call = call.strip()
        if call.endswith("<unfinished ...>"):
            begun[process] = call[:-len("<unfinished ...>")]
        else:
            yield re.sub(r"^<\.\.\. \w+ resumed>", lambda _: begun.pop(process, ""), call)

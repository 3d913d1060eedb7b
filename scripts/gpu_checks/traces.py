# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads what strace writes."""
import re

# What NVIDIA's driver and CUDA try and do without: links to its nodes, a library that a debugger would have it
# load, its service for several processes, the name service. The others are calls whose failure every program here expects.
HARMLESS = re.compile(r'"(/dev/char/|/dev/shm/cuda_injection|/root/\.nv|/[^"]*/\.nv/|/tmp/nvidia-mps)'
                      r'|^(connect|clone3|sched_setaffinity|socket\(AF_UNIX, SOCK_STREAM)\b')


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

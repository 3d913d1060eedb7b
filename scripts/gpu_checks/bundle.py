# SPDX-License-Identifier: GPL-2.0-or-later
"""Packs programs with the shared libraries that they need, for a bare machine: its C library must not be older than this one's."""
import glob
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from gpu_checks.clips import make_clips

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = ("hwctl", "hwctl-media", "hwdaemon", "hwdaemon-decoder", "hwdaemon-encoder", "hwdaemon-encoder-nv", "hwdaemon-probe",
            "hwdaemon-transfer", "hwdaemon-verify")
MAX_SIZE = 60 << 20
OF_THE_OTHER_MACHINE = ("libc.so", "libm.so", "libdl.so", "libpthread.so", "librt.so", "ld-linux", "libstdc++", "libgcc_s", "libresolv")
# What drivers load beside themselves: NVIDIA's part for the loader fails where only some of these exist.
OPENED = ("libvulkan.so.1", "libva.so.2", "libva-drm.so.2", "libX11.so.6", "libXext.so.6", "libX11-xcb.so.1", "libEGL.so.1",
          "libGL.so.1", "libGLX.so.0", "libGLdispatch.so.0", "libdrm.so.2", "libgbm.so.1", "libwayland-client.so.0",
          "libwayland-server.so.0")
# Libraries of other codecs, which libavcodec needs to be loaded and no check calls. Their stubs' functions return 0. Libraries that
# are needed by symbol version cannot be stubs, nor those that libavformat calls to recognize a file.
STUBS = ("libicudata", "libcodec2", "librsvg", "libflite", "libblas", "liblapack", "libSvtAv1", "libaom", "librav1e", "libicui18n",
         "libcairo", "libpango", "libbluray", "libx264", "libshine", "libsphinxbase", "libpocketsphinx", "librabbitmq", "libsrt",
         "libzmq", "libdc1394", "libcaca", "libtwolame", "libvpx", "libgfortran", "libchromaprint", "librubberband", "libmysofa",
         "libSDL2", "libjack")


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def needed(path):
    for line in run("ldd", path).splitlines():
        words = line.split()
        if "=>" in words and len(words) > 2 and words[2].startswith("/"):
            yield words[2]


def libraries(paths):
    """The libraries of programs and of other libraries, and all that these need."""
    found, left = set(), list(paths)
    while left:
        for library in needed(left.pop()):
            if library not in found and not os.path.basename(library).startswith(OF_THE_OTHER_MACHINE):
                found.add(library)
                left.append(library)
    return found


def make_stub(path):
    """Replaces a library by one that defines the same names."""
    names = {}
    for line in run("nm", "-D", "--defined-only", path).splitlines():
        *_, kind, name = line.split()
        names[name.split("@")[0]] = kind
    soname = next(line.split()[1] for line in run("objdump", "-p", path).splitlines() if "SONAME" in line)
    lines = ['.section .note.GNU-stack,"",@progbits', ".text"]
    for name, kind in names.items():
        if kind in "TtWwiV":
            lines.append(f'.globl "{name}"\n.type "{name}",@function\n"{name}": xor %eax,%eax\nret')
    lines.append(".data")
    for name, kind in names.items():
        if kind not in "TtWwiVA":
            lines.append(f'.globl "{name}"\n.type "{name}",@object\n.size "{name}",64\n"{name}": .zero 64')
    with tempfile.NamedTemporaryFile("w", suffix=".s") as source:
        source.write("\n".join(lines) + "\n")
        source.flush()
        run("gcc", "-shared", "-nostdlib", f"-Wl,-soname,{soname}", "-o", path, source.name)


def make_bundle(out, build, bench):
    """Writes check-gpu, the programs of a build folder, session-bench, bus-copies, strace and clips to a .tar.xz."""
    programs = [str(build / name) for name in PROGRAMS] + [str(bench)]
    runtime = (build / "../lib/hwdaemon").resolve()
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "check-gpu"
        for name in ("bin", "lib", "gpu_checks"):
            (root / name).mkdir(parents=True)
        for program in programs:
            run("strip", "-o", str(root / "bin" / os.path.basename(program)), program)
        copies = str(root / "bin/bus-copies")
        run("gcc", "-std=gnu11", "-O2", "-o", copies, str(ROOT / "Benchmarks/bus-copies.c"), "-lvulkan")
        strace = shutil.which("strace")
        tools = [copies] + ([shutil.copy(strace, root / "bin/strace")] if strace else [])
        opened = [path for name in OPENED for path in glob.glob(f"/usr/lib/*/{name}")]
        for library in libraries(programs + tools + opened) | set(opened):
            if runtime.is_dir() and runtime in Path(library).resolve().parents:
                continue
            target = root / "lib" / os.path.basename(library)
            shutil.copy(os.path.realpath(library), target)
            if target.name.startswith(STUBS):
                make_stub(str(target))
        if runtime.is_dir():
            shutil.copytree(runtime, root / "lib/hwdaemon", symlinks=True)
        make_clips(root / "clips")
        shutil.copy(ROOT / "scripts/check-gpu", root)
        for file in (ROOT / "scripts/gpu_checks").glob("*.py"):
            shutil.copy(file, root / "gpu_checks")
        subprocess.run(f"tar -C {folder} -cf - check-gpu | xz -T0 -6 >{out}", shell=True, check=True)
    size = os.path.getsize(out)
    print(f"{out}: {size / 1e6:.1f} MB")
    if size > MAX_SIZE:
        sys.exit(f"check-gpu: the bundle is larger than {MAX_SIZE >> 20} MiB")

# SPDX-License-Identifier: Apache-2.0
"""Puts programs, what they need, and the licences of all of it into one folder that runs where it lies.

    python3 bundle.py --programs build/release/bin --out FOLDER [--module _native….so … --module-out FOLDER] [--cuda]
    python3 bundle.py --check           only says whether what it needs is here

FOLDER gets bin, lib, plugins, fonts, xkb, share, docs and licenses. Left to the system are the C and C++ run time and
libexpat, which every desktop has. Libraries get a hash in their names, so that those of another program in the same
process (PyTorch's OpenMP, protobuf) are never taken for ours; Qt and Graphviz keep theirs: they look for each other by
them. With --cuda the CUDA back end of LUT layers is inside; it asks the system for CUDA's run time when it is used.
Needs Debian's dpkg, patchelf (0.14 or later) and binutils.
"""
from __future__ import annotations

import argparse
import hashlib
import importlib.metadata
import os
import pathlib
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence

PROGRAMS = ("retrograde", "retrograde-cli", "retrograde-layout", "retrograde-lut-train")
SYSTEM = {"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1", "libresolv.so.2", "libutil.so.1",
          "libstdc++.so.6", "libgcc_s.so.1", "libexpat.so.1", "ld-linux-x86-64.so.2"}
PLUGINS = ("platforms/libqxcb.so", "platforms/libqwayland-generic.so", "platforms/libqoffscreen.so",
           "platforms/libqminimal.so", "wayland-shell-integration/libxdg-shell.so", "imageformats/libqsvg.so",
           "imageformats/libqjpeg.so", "imageformats/libqgif.so", "iconengines/libqsvgicon.so",
           "platforminputcontexts/libcomposeplatforminputcontextplugin.so",
           "platforminputcontexts/libibusplatforminputcontextplugin.so")
QT = pathlib.Path("/usr/lib/x86_64-linux-gnu/qt6/plugins")
NEEDED_PLUGINS = {"platforms/libqxcb.so", "platforms/libqoffscreen.so", "imageformats/libqsvg.so"}
GRAPHVIZ_FOLDER = pathlib.Path("/usr/lib/x86_64-linux-gnu/graphviz")
GRAPHVIZ = ("libgvplugin_dot_layout.so.6", "libgvplugin_core.so.6")
CORE = "libretrograde-core.so"  # of our own, in ../lib of the programs (sharedcore.cmake)
CUDA = "libretrograde-cuda.so"  # beside it, where it was built (RETRO_CUDA_FILE)
GRAPHVIZ_LIST = "config6a"  # its plugins and what each can do; Graphviz writes it when it is installed
COMPILED_IN = ("libcli11-dev", "libfmt-dev", "nlohmann-json3-dev")  # their headers are code of our programs
KEEPS_NAME = re.compile(r"^(libQt6|libgvc\.|libgvplugin|libcgraph\.|libcdt\.|libpathplan\.|libxdot\.)")
# The plain ones, not what the alternatives of this machine point to.
REFERENCE = {"libblas.so.3": "blas/libblas.so.3", "liblapack.so.3": "lapack/liblapack.so.3"}
FONTS = {"fonts-inter": ("opentype/inter", ("Inter-Regular.otf", "Inter-Medium.otf", "Inter-SemiBold.otf",
                                            "Inter-Bold.otf", "Inter-Italic.otf")),
         "fonts-jetbrains-mono": ("truetype/jetbrains-mono", ("JetBrainsMono-Regular.ttf", "JetBrainsMono-Bold.ttf"))}
FONTS_CONF = """<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <include ignore_missing="yes">/etc/fonts/fonts.conf</include>
  <dir prefix="relative">.</dir>
  <cachedir prefix="xdg">fontconfig</cachedir>
</fontconfig>
"""


def said(*command: object) -> str:
    """What a command prints; its failure ends the program."""
    return subprocess.run([str(one) for one in command], check=True, capture_output=True, text=True).stdout


def needed(path: pathlib.Path) -> list[str]:
    """Names of the libraries that a file asks for."""
    return said("patchelf", "--print-needed", path).split()


def is_of_system(name: str) -> bool:
    """It is not put inside."""
    return name in SYSTEM or name.startswith("libcudart.so.")


def changed(path: pathlib.Path, *change: str) -> None:
    """One change of a file by patchelf: several in one call are not reliable."""
    said("patchelf", *change, path)


def known_libraries() -> dict[str, pathlib.Path]:
    """Where the system has its libraries, by name."""
    found = {}
    for line in said("/sbin/ldconfig", "-p").splitlines():
        match = re.match(r"\s+(\S+) \(libc6,x86-64.*\) => (\S+)", line)
        if match:
            found.setdefault(match.group(1), pathlib.Path(match.group(2)))
    for name, place in REFERENCE.items():
        path = pathlib.Path("/usr/lib/x86_64-linux-gnu") / place
        if path.exists():
            found[name] = path
    return found


def newest_glibc(path: pathlib.Path) -> tuple[int, ...]:
    """The newest version of the C library whose symbols a file asks for."""
    versions = re.findall(r"GLIBC_(\d+)\.(\d+)", said("objdump", "-T", path))
    return max(((int(major), int(minor)) for major, minor in versions), default=(2, 0))


class Bundle:
    """The folder that is made."""

    def __init__(self, out: pathlib.Path) -> None:
        self.out, self.libraries = out, known_libraries()
        self.files: dict[pathlib.Path, str] = {}      # what is patched, with its run path
        self.origins: set[pathlib.Path] = set()       # files of Debian packages that were copied
        self.names: dict[str, str] = {}               # of libraries: as they are asked for, as they are called here
        if out.exists():
            shutil.rmtree(out)
        (out / "lib").mkdir(parents=True)

    def copy(self, source: pathlib.Path, place: str, run_path: str | None = None, *, own: bool = False) -> pathlib.Path:
        """Copies a file; with a run path it is one that is patched."""
        target = self.out / place
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source.resolve(), target)
        target.chmod(0o755 if run_path else 0o644)
        if not own:
            self.origins.add(source)
        if run_path:
            said("strip", "--strip-unneeded", target)
            self.files[target] = run_path
        return target

    def take_libraries(self, first: list[pathlib.Path]) -> None:
        """Copies every library that these files need, and those of the libraries."""
        waiting = list(first)
        while waiting:
            for name in needed(waiting.pop()):
                if is_of_system(name) or name in self.names:
                    continue
                if name not in self.libraries:
                    sys.exit(f"bundle: nobody has {name}; install the package that holds it")
                source = self.libraries[name]
                self.names[name] = name if KEEPS_NAME.match(name) else hashed(name, source)
                waiting.append(self.copy(source, f"lib/{self.names[name]}", "$ORIGIN", own=name == CORE))

    def patch(self) -> None:
        """Run paths, and the names with hashes; looks afterwards whether it worked."""
        for path, run_path in self.files.items():
            changed(path, "--force-rpath", "--set-rpath", run_path) if run_path else None
            if path.parent == self.out / "lib" and path.name in self.names.values():
                changed(path, "--set-soname", path.name)
            for name in needed(path):
                if self.names.get(name, name) != name:
                    changed(path, "--replace-needed", name, self.names[name])
        for path in self.files:
            for name in needed(path):
                if not is_of_system(name) and not (self.out / "lib" / name).exists():
                    sys.exit(f"bundle: {path} asks for {name}, which is neither inside nor left to the system")

    def add_licences(self, has_module: bool) -> None:
        """One notice per Debian package, and of what a module is made with; SOURCES.tsv: package, version, source."""
        folder = self.out / "licenses"
        folder.mkdir()
        rows = set(add_binding(folder) if has_module else ())
        for package in sorted({*COMPILED_IN, *map(package_of, self.origins)}):
            notice = pathlib.Path("/usr/share/doc") / package.split(":")[0] / "copyright"
            text = notice.read_bytes() if notice.exists() else b""
            if not text:
                sys.exit(f"bundle: the package {package} has no notice of its licence")
            (folder / f"{package.split(':')[0]}.txt").write_bytes(text)
            form = "-f=${Package}\t${Version}\t${source:Package} ${source:Version}"
            rows.add(said("dpkg-query", "-W", form, package))
        text = "package\tversion\tsource\n" + "\n".join(sorted(rows)) + "\n"
        (folder / "SOURCES.tsv").write_text(text, encoding="utf-8")


def add_binding(folder: pathlib.Path) -> list[str]:
    """The notices of nanobind and of the table that it holds; their rows of SOURCES.tsv."""
    found = importlib.metadata.distribution("nanobind")
    files = {name: next((file.locate() for file in found.files or () if file.name == name), None)
             for name in ("LICENSE", "robin_map.h")}
    for name, path in files.items():
        if path is None:
            sys.exit(f"bundle: nanobind {found.version} has no {name}, so nobody knows its licence")
    (folder / "nanobind.txt").write_bytes(pathlib.Path(files["LICENSE"]).read_bytes())
    header = pathlib.Path(files["robin_map.h"]).read_text(encoding="utf-8")
    notice = header[: header.find("*/")].replace("/**", "")
    if "Permission is hereby granted" not in notice:
        sys.exit("bundle: the table that nanobind holds says no licence")
    (folder / "robin-map.txt").write_text(re.sub(r"^ \* ?", "", notice, flags=re.M).lstrip(), encoding="utf-8")
    return [f"nanobind\t{found.version}\tPyPI nanobind {found.version}",
            f"robin-map\tof nanobind {found.version}\tPyPI nanobind {found.version}"]


def hashed(name: str, source: pathlib.Path) -> str:
    """libdnnl.so.2 as libdnnl-1a2b3c4d.so.2."""
    stem, dot, rest = name.partition(".so")
    return f"{stem}-{hashlib.sha256(source.read_bytes()).hexdigest()[:8]}{dot}{rest}"


def package_of(path: pathlib.Path) -> str:
    """The Debian package that a file is of."""
    asked = {str(path), str(path.resolve())}
    asked |= {one.removeprefix("/usr") for one in asked if one.startswith("/usr/lib")}
    asked |= {"/usr" + one for one in asked if one.startswith("/lib")}
    for one in sorted(asked):
        done = subprocess.run(["dpkg", "-S", one], capture_output=True, text=True, check=False)
        if done.returncode == 0:
            return done.stdout.split(": ")[0].split(",")[0]
    sys.exit(f"bundle: {path} is of no Debian package, so nobody knows its licence")


def take_data(bundle: Bundle) -> None:
    """Fonts, keyboards, desktop files, and where Qt finds its plugins."""
    (bundle.out / "bin/qt.conf").write_text("[Paths]\nPrefix = ..\nPlugins = plugins\n", encoding="utf-8")
    for _, (folder, names) in FONTS.items():
        for name in names:
            source = pathlib.Path("/usr/share/fonts") / folder / name
            if source.exists():
                bundle.copy(source, f"fonts/{name}")
    (bundle.out / "fonts").mkdir(exist_ok=True)
    (bundle.out / "fonts/fonts.conf").write_text(FONTS_CONF, encoding="utf-8")
    keyboards = pathlib.Path("/usr/share/X11/xkb")
    if keyboards.is_dir():
        shutil.copytree(keyboards, bundle.out / "xkb", symlinks=False)
        bundle.origins.add(keyboards / "rules/evdev")
    here = pathlib.Path(__file__).resolve().parent
    for file in here.glob("ai.retrograde.Retrograde.*"):
        bundle.copy(file, f"share/{file.name}", own=True)
    pages = here.parents[1] / "docs"
    for page in pages.rglob("*.md"):  # which --help names
        bundle.copy(page, f"docs/{page.relative_to(pages)}", own=True)


def check() -> None:
    """Ends the program where something is missing that it needs."""
    for tool in ("patchelf", "strip", "objdump", "dpkg"):
        if not shutil.which(tool):
            sys.exit(f"bundle: there is no {tool}; install it (apt-get install patchelf binutils)")
    for plugin in sorted(NEEDED_PLUGINS):
        if not (QT / plugin).exists():
            sys.exit(f"bundle: Qt's plugin {plugin} is missing; install qt6-base-dev and libqt6svg6")


def make(programs: pathlib.Path, out: pathlib.Path, modules: Sequence[pathlib.Path] = (),
         module_out: pathlib.Path | None = None, *, has_cuda: bool = False) -> None:
    """The whole folder."""
    bundle = Bundle(out)
    for name in PROGRAMS:
        if (programs / name).exists():
            bundle.copy(programs / name, f"bin/{name}", "$ORIGIN/../lib", own=True)
    for plugin in PLUGINS:
        if (QT / plugin).exists():
            bundle.copy(QT / plugin, f"plugins/{plugin}", "$ORIGIN/../../lib")
    for name in GRAPHVIZ:
        source = GRAPHVIZ_FOLDER / name
        if source.exists():
            bundle.copy(source, f"lib/graphviz/{name}", "$ORIGIN/..")
    if (GRAPHVIZ_FOLDER / GRAPHVIZ_LIST).exists():
        text = (GRAPHVIZ_FOLDER / GRAPHVIZ_LIST).read_text(encoding="utf-8")
        kept = [found.group(0) for found in re.finditer(r"^(\S+) \S+ \{\n.*?^\}\n", text, re.M | re.S)
                if found.group(1) in GRAPHVIZ]
        (out / "lib/graphviz" / GRAPHVIZ_LIST).write_text("".join(kept), encoding="utf-8")
    for module in modules if module_out else ():
        target = module_out / module.name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(module, target)
        target.chmod(0o755)
        said("strip", "--strip-unneeded", target)
        bundle.files[target] = "$ORIGIN/" + os.path.relpath(out / "lib", module_out)
    if has_cuda:
        bundle.copy(programs.parent / "lib" / CUDA, f"lib/{CUDA}", "$ORIGIN", own=True)
    bundle.libraries[CORE] = programs.parent / "lib" / CORE
    bundle.take_libraries(list(bundle.files))
    bundle.patch()
    take_data(bundle)
    bundle.add_licences(bool(modules))
    newest = max(newest_glibc(path) for path in bundle.files)
    (out / "glibc").write_text(".".join(str(one) for one in newest) + "\n", encoding="utf-8")
    size = sum(path.stat().st_size for path in out.rglob("*") if path.is_file())
    print(f"bundle: {len(bundle.names)} libraries, {size / 1e6:.0f} MB, for glibc {newest[0]}.{newest[1]} or later")


def main() -> None:
    """Reads the options."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--programs", type=pathlib.Path)
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("--module", type=pathlib.Path, action="append", default=[])
    parser.add_argument("--module-out", type=pathlib.Path)
    parser.add_argument("--cuda", action="store_true")
    given = parser.parse_args()
    check()
    if given.check:
        return
    if not given.programs or not given.out:
        parser.error("--programs and --out are needed")
    make(given.programs.resolve(), given.out.resolve(), given.module, given.module_out and given.module_out.resolve(),
         has_cuda=given.cuda)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Finishes a release: release.py FOLDER VERSION writes notes, a list of parts and checksums beside the packages there.

NOTES.md: the part of CHANGELOG.md of that version. sbom.cdx.json: CycloneDX 1.5, what the wheel and the folder carry,
from the SOURCES.tsv inside each, and what the Debian package depends on. SHA256SUMS: of every file, a page to try
among them; `sha256sum -c` reads it.
"""
import hashlib
import json
import pathlib
import re
import subprocess
import sys
import tarfile
import zipfile

INSTALL = """Each file works by itself; `sha256sum -c SHA256SUMS` checks them. x86-64 Linux with glibc 2.35 or newer.

- `pip install ./retrograde-{version}-*.whl`: window, command line and Python module, for Python 3.11 or newer.
- `tar xf retrograde-{version}-x86_64.tar.xz`: a folder that runs where it lies, without root; `./retrograde` in it.
  A folder whose name ends in `-cuda` also runs LUT layers on a GPU where CUDA's `libcudart` is installed.
- `apt install ./retrograde_{version}_amd64.deb`: for Debian 12.
- `retrograde-{version}-try.html`: the sample in a browser, without installing anything.
- `sbom.cdx.json`: what each of them carries.

Then `retrograde` opens the window, which offers samples; `retrograde-cli --help` lists the verbs.
"""
ROOT = pathlib.Path(__file__).resolve().parents[2]


def notes(version: str) -> str:
    """What changed in that version."""
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    found = re.search(rf"^## {re.escape(version)}\n(.*?)(?=^## |\Z)", changes, re.MULTILINE | re.DOTALL)
    if not found or not found.group(1).strip():
        sys.exit(f"release: CHANGELOG.md says nothing of {version}; add a part `## {version}`")
    return f"# Retrograde {version}\n\n{INSTALL.format(version=version)}\n## What changed\n\n{found.group(1).strip()}\n"


def table_of(package: pathlib.Path) -> str:
    """The SOURCES.tsv inside a wheel or an archive."""
    if package.suffix == ".whl":
        with zipfile.ZipFile(package) as files:
            return files.read(next(name for name in files.namelist() if name.endswith("/SOURCES.tsv"))).decode()
    with tarfile.open(package) as files:
        member = next(one for one in files if one.name.endswith("/SOURCES.tsv"))
        found = files.extractfile(member)
        assert found is not None
        return found.read().decode()


def carried(package: pathlib.Path) -> list[dict[str, object]]:
    """What a package carries, as components."""
    if package.suffix == ".deb":
        said = subprocess.run(["dpkg-deb", "-f", package, "Depends"], capture_output=True, text=True, check=True).stdout
        return [{"type": "library", "name": one.split()[0], "scope": "required",
                 "version": re.sub(r".*\(|\)", "", one) if "(" in one else ""} for one in said.strip().split(", ") if one]
    rows = [line.split("\t") for line in table_of(package).splitlines()[1:]]
    return [{"type": "library", "name": name, "version": version, "scope": "required",
             **({"purl": f"pkg:deb/debian/{name.split(':')[0]}@{version}"} if not source.startswith("PyPI") else {}),
             "properties": [{"name": "source", "value": source}]} for name, version, source in rows]


def parts(packages: list[pathlib.Path], version: str) -> dict[str, object]:
    """The list of parts."""
    return {"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
            "metadata": {"component": {"type": "application", "name": "retrograde", "version": version,
                                       "licenses": [{"license": {"id": "Apache-2.0"}}]}},
            "components": [{"type": "file", "name": one.name, "components": carried(one)} for one in packages]}


def main() -> None:
    folder, version = pathlib.Path(sys.argv[1]), sys.argv[2]
    packages = sorted(one for one in folder.iterdir() if one.suffix in (".whl", ".deb", ".xz"))
    (folder / "NOTES.md").write_text(notes(version), encoding="utf-8")
    text = json.dumps(parts(packages, version), indent=1, ensure_ascii=False)
    (folder / "sbom.cdx.json").write_text(text + "\n", encoding="utf-8")
    files = [*packages, *sorted(folder.glob("*.html")), folder / "NOTES.md", folder / "sbom.cdx.json"]
    lines = [f"{hashlib.sha256(one.read_bytes()).hexdigest()}  {one.name}\n" for one in files]
    (folder / "SHA256SUMS").write_text("".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()

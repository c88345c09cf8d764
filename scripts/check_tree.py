#!/usr/bin/env python3
"""Checks of the sources that need no build: their format, the order of includes, a README in
every folder, and the tests that the table of faults names.

    scripts/check_tree.py            where clang-format 14 is missing, it says so
    scripts/check_tree.py --strict   there it fails

One line a fault. Exit status: 0 none, 1 some.
"""

import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# A room includes itself and those below its line; the headers that lie in src/ itself are below all.
ORDER = (("jobs",), ("train",), ("console",), ("physics-style",), ("optim", "weights"), ("data", "outputs"),
         ("parallel",), ("state",), ("deck", "kernels", "hdf5"), ("utils",), ("src",), ("emulation",))
LEVEL = {room: -line for line, rooms in enumerate(ORDER) for room in rooms}

# Other major versions format some lines differently.
CLANG_FORMAT = "14"

# Folders of stored files and of examples, which the README above them describes.
WITHOUT_README = ("tests/portability/planted", "tests/emulation/planted")


def tracked(*patterns):
    """Tracked files that match, and new ones that git does not ignore."""
    listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard", *patterns], cwd=ROOT,
                            capture_output=True, text=True, check=True).stdout.splitlines()
    return sorted({name for name in listed if (ROOT / name).is_file()})


def clang_format():
    """The program of the version that the sources are formatted with; None where there is none."""
    for name in (f"clang-format-{CLANG_FORMAT}", "clang-format"):
        if shutil.which(name):
            version = subprocess.run([name, "--version"], capture_output=True, text=True, check=False).stdout
            if re.search(rf"version {CLANG_FORMAT}\.", version):
                return name
    return None


def format_faults(sources, strict):
    program = clang_format()
    if program is None:
        missing = f"clang-format {CLANG_FORMAT} is not here, and other versions format differently"
        if not strict:
            print(f"    format not checked: {missing}")
        return [missing] if strict else []
    text = subprocess.run([program, "--dry-run", "-Werror", *sources], cwd=ROOT, capture_output=True, text=True,
                          check=False).stderr
    names = sorted({line.split(":")[0] for line in text.splitlines() if "clang-format-violations" in line})
    return [f"{name}: not as {program} -i leaves it" for name in names]


def room_of(path):
    """The room of a file of src/ or physics-style/."""
    parts = path.split("/")
    if parts[0] == "physics-style":
        return "physics-style"
    return parts[1] if len(parts) > 2 else "src"


def include_faults(sources):
    houses = {name for name in sources if name.startswith(("src/", "physics-style/"))} - {"src/main.cpp"}
    faults = [f"{name}: '{room_of(name)}' has no place in the order of scripts/check_tree.py"
              for name in sorted(houses) if room_of(name) not in LEVEL]
    for name in sorted(houses):
        for included in re.findall(r'^ *# *include "(.+?)"', (ROOT / name).read_text(), re.M):
            target = next((base + included for base in ("src/", "physics-style/") if base + included in houses), None)
            if target is None:
                continue
            upper, lower = room_of(name), room_of(target)
            if upper != lower and LEVEL.get(upper, 0) <= LEVEL.get(lower, 0):
                faults.append(f"{name}: {upper} includes {included}, and {lower} is not below it")
    return faults


def readme_faults():
    with_sources = {str(Path(name).parent) for name in tracked("*.cpp", "*.hpp", "*.py", "*.sh", "*.cmake",
                                                               "*CMakeLists.txt")}
    rooms = ("src", "physics-style", "tests", "inputs", "postprocess", "cmake", "scripts")
    return [f"{folder}: no README.md" for folder in sorted(with_sources)
            if folder.split("/")[0] in rooms and not folder.startswith(WITHOUT_README)
            and not (ROOT / folder / "README.md").is_file()]


def table_faults():
    """Of the fault table in tests/README.md: each file is there, and the quoted titles and names stand in it."""
    faults = []
    for row in re.findall(r"^\| .* \|$", (ROOT / "tests/README.md").read_text().split("| fault |")[-1], re.M):
        path = None
        for code, title in re.findall(r'`([^`]+)`|"([^"]+)"', row.split("|")[2]):
            if code.endswith((".cpp", ".py")):
                path = ROOT / "tests" / code
                text = re.sub(r'"\s*"', "", path.read_text()) if path.is_file() else None
                if text is None:
                    faults.append(f"tests/README.md: no tests/{code}")
            elif path and text is not None and (title or code) not in text:
                faults.append(f"tests/README.md: nothing in {path.relative_to(ROOT)} has the name '{title or code}'")
    return faults


def main():
    sources = tracked("*.cpp", "*.hpp")
    faults = format_faults(sources, "--strict" in sys.argv[1:]) + include_faults(sources) + readme_faults() + table_faults()
    for fault in faults:
        print(f"    {fault}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())

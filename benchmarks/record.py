"""Run benchmarks and keep what they print: the source of every figure on docs/benchmarks.md.

    FRANKWOLFE_DATA=folder python benchmarks/record.py race ranges     # run these, keep their output, write the page
    python benchmarks/record.py --list                                 # names, commands and the dates of the records
    python benchmarks/record.py --page                                 # write the page from the records alone

A record is `benchmarks/records/NAME.json`: the command, the date, the machine, how busy it was, the versions, and the
output as it was printed. The page shows the records in the order of `benchmarks.toml`, which describes them.
"""

import argparse
import json
import os
import platform
import re
import shlex
import subprocess
import sys
import textwrap
import time
import tomllib
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parent.parent
RECORDS = Path(__file__).parent / "records"
PAGE = ROOT / "docs" / "benchmarks.md"
OURS = ("numpy", "scipy", "numba")
QUIET = 0.6
"""Processes that want to run, on average of the last minute, up to which a machine counts as quiet."""


class Benchmark(NamedTuple):
    """A command, and what the page says about it."""

    section: str
    title: str
    command: str
    text: str
    peers: list[str] = []  # noqa: RUF012
    needs_data: bool = True


BENCHMARKS = {
    name: Benchmark(**facts)
    for name, facts in tomllib.loads((Path(__file__).parent / "benchmarks.toml").read_text(encoding="utf-8")).items()
}
INTRODUCTION = """\
# Benchmarks

After this page you know what the library costs in time and memory, and how to measure it on your own machine. Every
figure has its command, the date, the machine and the versions. `python benchmarks/record.py NAME` runs a benchmark
again, keeps what it prints and writes this page. `FRANKWOLFE_DATA` names the folder of the tables.

[F(0)](glossary.md#f0) is the objective of zero weights, and F* the smallest possible one. Compare the rows of a table
with each other, not its seconds with those of your machine. Times taken on a busy machine are a guide only.
"""


def run(name: str, python: str) -> dict[str, Any]:
    """Run a benchmark and return its record."""
    benchmark = BENCHMARKS[name]
    if benchmark.needs_data and "FRANKWOLFE_DATA" not in os.environ:
        raise SystemExit(f"{name} needs tables: set FRANKWOLFE_DATA to the folder that holds them")
    script, *options = benchmark.command.split()
    load, begun = os.getloadavg()[0], time.perf_counter()
    answer = subprocess.run(
        [python, f"benchmarks/{script}", *options], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False
    )
    if answer.returncode != 0:
        raise SystemExit(f"{name} failed with code {answer.returncode}; its record is unchanged")
    return {
        "command": benchmark.command,
        "date": date.today().isoformat(),
        "machine": machine(),
        "load": round(load, 1),
        "minutes": round((time.perf_counter() - begun) / 60.0, 1),
        "versions": {"python": platform.python_version(), **installed(python, [*OURS, *benchmark.peers])},
        "output": answer.stdout.replace(f"{ROOT}/", "").strip("\n"),
    }


def machine() -> str:
    """Return a description of the machine that names nobody."""
    info = Path("/proc/cpuinfo")
    models = [line.partition(":")[2].strip() for line in info.read_text().splitlines() if line.startswith("model name")]
    return f"{os.cpu_count()} cores, {models[0] if models else platform.machine()}, {platform.system()}"


def installed(python: str, packages: list[str]) -> dict[str, str]:
    """Return the versions of those packages that this Python has."""
    code = (
        "import json, sys; from importlib.metadata import distributions; "
        "print(json.dumps({each.name.lower(): each.version for each in distributions()}))"
    )
    found = json.loads(subprocess.check_output([python, "-c", code], text=True))
    return {package: found[package] for package in packages if package in found}


def shown(output: str) -> str:
    """Return printed output as Markdown: its tables, and blocks of text for the rest."""
    return "\n\n".join(shown_part(part) for part in re.split(r"\n\s*\n", output))


def shown_part(part: str) -> str:
    """Return a part of an output as a table if it is one: in Markdown, or aligned by two spaces or more."""
    lines = part.splitlines()
    if len(lines) > 1 and set(lines[1]) <= set("|-: ") and "|" in lines[1]:
        return "\n".join(f"| {line.strip()} |" if "|" in line and not line.startswith("|") else line for line in lines)
    cells = [re.split(r" {2,}", line.strip()) for line in lines]
    headed = len(lines) > 1 and not any(re.fullmatch(r"[-\d.e+%]+", cell) for cell in cells[0])
    if headed and {len(row) for row in cells} == {len(cells[0])} and len(cells[0]) > 1:
        rows = [cells[0], ["---"] * len(cells[0]), *cells[1:]]
        return "\n".join(f"| {' | '.join(row)} |" for row in rows)
    return f"```text\n{part}\n```"


def wrapped(command: str) -> str:
    """Return a command in lines that fit on a page."""
    return " \\\n    ".join(
        textwrap.wrap(shlex.join(command.split()), 72, break_long_words=False, break_on_hyphens=False)
    )


def circumstances(record: dict[str, Any]) -> str:
    """Return date, machine, load and versions in a line."""
    load = record.get("load")
    busy = "" if load is None else ", quiet" if load < QUIET else f", busy (load {load:g}): seconds are a guide only"
    versions = ", ".join(f"{name} {number}" for name, number in record.get("versions", {}).items())
    return f"{record['date']}, {record['machine']}{busy}" + (f"; {versions}" if versions else "") + "."


def page() -> str:
    """Return the page of all records."""
    parts, section = [INTRODUCTION], None
    for name, benchmark in BENCHMARKS.items():
        path = RECORDS / f"{name}.json"
        if not path.exists():
            continue
        record = json.loads(path.read_text(encoding="utf-8"))
        if benchmark.section != section:
            section = benchmark.section
            parts.append(f"## {section}\n")
        data = "FRANKWOLFE_DATA=folder " if benchmark.needs_data else ""
        parts.append(f"### {benchmark.title}\n\n{benchmark.text.strip()}\n")
        command = f"{data}python benchmarks/{record['command']}"
        parts.append(f"```text\n{wrapped(command)}\n```\n")
        parts.append(f"{shown(record['output'])}\n\n*{circumstances(record)}*\n")
        if "note" in record:
            parts.append(f"{record['note']}\n")
    return "\n".join(parts)


def main():
    """Run what was asked for, keep it, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="benchmarks to run")
    parser.add_argument("--list", action="store_true", help="list names, dates and commands")
    parser.add_argument("--page", action="store_true", help="write the page from the records alone")
    parser.add_argument("--python", default=sys.executable, help="an interpreter that has the peers")
    args = parser.parse_args()
    unknown = set(args.names) - set(BENCHMARKS)
    if unknown:
        raise SystemExit(f"unknown: {', '.join(sorted(unknown))}; there are {', '.join(BENCHMARKS)}")
    if args.list:
        for name, benchmark in BENCHMARKS.items():
            path = RECORDS / f"{name}.json"
            when = json.loads(path.read_text(encoding="utf-8"))["date"] if path.exists() else "-"
            print(f"{name:<28}{when:<12}{benchmark.command}")
    RECORDS.mkdir(exist_ok=True)
    for name in args.names:
        text = json.dumps(run(name, args.python), indent=1)
        (RECORDS / f"{name}.json").write_text(text + "\n", encoding="utf-8")
        print(f"{name}: recorded", flush=True)
    if args.names or args.page:
        PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()

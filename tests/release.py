"""Try the files of a release in fresh environments: ``python -m tests.release dist [INTERPRETER ...]``.

Each interpreter installs the wheel, bare, solves a small problem and starts the command line. Then it installs each
extra into an environment of its own and uses what it brings, and runs the README's first example with all of them.
The first interpreter installs the source distribution, too.
"""

import hashlib
import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent

BARE = """
import sys, time
start = time.perf_counter()
import frankwolfe as fw
seconds = time.perf_counter() - start
assert fw.__version__ == {version!r}, fw.__version__
assert "site-packages" in fw.__file__, fw.__file__
problem = fw.Problem([[1.0, 0.0], [0.0, 1.0]], [1.0, 2.0], loss="squared", constraint=fw.L1Ball(1.0))
for method in ("auto", "sfw"):
    assert fw.minimize(problem, method, tol=1e-2, max_passes=1000, random_state=0).success
print(f"Python {{sys.version.split()[0]}}: import frankwolfe takes {{1000 * seconds:.0f}} ms")
"""

PROBLEM = "import frankwolfe as fw; X, y = [[1.0, 0.0], [0.0, 1.0]], [1.0, 2.0]; "
SOLVED = PROBLEM + "result = fw.minimize(fw.Problem(X, y, loss='squared', constraint=fw.L1Ball(1.0)){}); "
EXTRAS = {  # what each is for
    "plot": "import matplotlib; matplotlib.use('Agg'); " + SOLVED.format("") + "result.plot()",
    "progress": SOLVED.format(", progress=True"),
    "datasets": "import sklearn",
    "sklearn": PROBLEM + "assert fw.FrankWolfeRegressor(radius=1.0).fit(X, y).result_.success",
    "cli": "import subprocess, sys; subprocess.run([sys.executable, '-m', 'frankwolfe', '--version'], check=True)",
    "dask": "import dask.array as da; "
    + PROBLEM
    + "assert fw.minimize(fw.Problem(da.asarray(X), da.asarray(y), 'squared', fw.L1Ball(1.0))).success",
    "all": "",  # the README's first example
}


def first_example() -> str:
    """Return the first Python code of the README."""
    return re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), flags=re.S)[0]


def fresh(interpreter: str, folder: Path, package: str, beside: Path | None = None) -> Path:
    """Make an environment in a folder, install a package into it, and return its Python.

    An environment ``beside`` another one also has what is installed there, so that an extra installs what it adds.
    """
    subprocess.run([interpreter, "-m", "venv", str(folder)], check=True)
    python = folder / "bin" / "python"
    if beside:
        place = "import sysconfig; print(sysconfig.get_paths()['purelib'])"
        here, there = (subprocess.check_output([path, "-I", "-c", place], text=True) for path in (python, beside))
        (Path(here.strip()) / "beside.pth").write_text(there)
    pip = [str(python), "-I", "-m", "pip", "--disable-pip-version-check", "--quiet"]
    subprocess.run([*pip, "install", package], check=True)
    subprocess.run([*pip, "check"], check=True)
    return python


def attempt(interpreter: str, package: Path, bare: str, extras: dict[str, str]) -> None:
    """Install a package, bare and with each extra, each in an environment of its own, and run some code there."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        plain = fresh(interpreter, folder / "bare", str(package))
        subprocess.run([plain, "-I", "-W", "error", "-c", bare], check=True, cwd=folder)
        for extra, code in extras.items():
            python = fresh(interpreter, folder / extra, f"{package}[{extra}]", beside=plain)
            subprocess.run([python, "-I", "-c", code], check=True, cwd=folder)
            print(f"{interpreter}: {package.name}[{extra}] works", flush=True)


def main() -> None:
    """Try all files of a folder."""
    folder, interpreters = Path(sys.argv[1]).resolve(), sys.argv[2:] or [sys.executable]
    (wheel,), (source,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
    bare = BARE.format(version=wheel.name.split("-")[1])
    named = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    if set(named) != set(EXTRAS):
        raise SystemExit(f"EXTRAS must say how to try each of {sorted(named)}, got {sorted(EXTRAS)}")
    example = "import matplotlib; matplotlib.use('Agg')\n" + first_example() + "\nassert result.success"
    for file in (wheel, source):
        print(
            f"{file.name}: {file.stat().st_size / 1e3:.0f} kB, sha256 {hashlib.sha256(file.read_bytes()).hexdigest()}"
        )
    extras = {extra: code or example for extra, code in EXTRAS.items()}
    for k, interpreter in enumerate(interpreters):
        for package in (wheel, source) if k == 0 else (wheel,):
            attempt(interpreter, package, bare, extras)


if __name__ == "__main__":
    main()

"""Try the files of a release in fresh environments: ``python -m tests.release dist [INTERPRETER ...]``.

Each interpreter installs the wheel, bare, solves a small problem and starts the command line; then it installs the
extras and runs the README's first example. The first interpreter does so from the source distribution, too.
"""

import re
import subprocess
import sys
import tempfile
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


def first_example() -> str:
    """Return the first Python code of the README."""
    return re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), flags=re.S)[0]


def attempt(interpreter: str, package: Path, version: str) -> None:
    """Install a wheel or a source distribution into a fresh environment, bare and with extras, and use it."""
    with tempfile.TemporaryDirectory() as folder:

        def run(*command: str) -> None:
            subprocess.run(command, cwd=folder, check=True)

        run(interpreter, "-m", "venv", "env")
        python = f"{folder}/env/bin/python"
        run(python, "-I", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", str(package))
        run(python, "-I", "-W", "error", "-c", BARE.format(version=version))
        run(python, "-I", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", f"{package}[cli,sklearn]")
        run(python, "-I", "-m", "frankwolfe", "--version")
        run(
            python,
            "-I",
            "-c",
            "import matplotlib; matplotlib.use('Agg')\n" + first_example() + "\nassert result.success",
        )


def main() -> None:
    """Try all files of a folder."""
    folder, interpreters = Path(sys.argv[1]).resolve(), sys.argv[2:] or [sys.executable]
    (wheel,), (source,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
    version = wheel.name.split("-")[1]
    for file in (wheel, source):
        print(f"{file.name}: {file.stat().st_size / 1e3:.0f} kB", flush=True)
    for interpreter in interpreters:
        attempt(interpreter, wheel, version)
    attempt(interpreters[0], source, version)


if __name__ == "__main__":
    main()

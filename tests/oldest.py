"""Print the lower bounds of what the library and its extras need, as constraints for pip: ``python -m tests.oldest``.

``make test-oldest`` installs exactly these versions. The tools of the tests are not among them: they get
their newest version.
"""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
TABLES = ("pandas", "polars")  # users' tables: the library works with them, and does not install them
REQUIREMENT = re.compile(r"([\w-]+)(?:\[[\w,]+\])?>=([\w.]+)")


def lower_bounds() -> dict[str, str]:
    """Return the largest lower bound of each dependency, by name.

    An extra may ask for more than another one: ``sklearn`` needs a newer scikit-learn than ``datasets``.
    """
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    project = settings["project"]
    groups = [project["dependencies"], *project["optional-dependencies"].values()]
    groups.append([needed for needed in settings["dependency-groups"]["test"] if needed.startswith(TABLES)])
    bounds: dict[str, str] = {}
    for group in groups:
        for name, bound in (found.groups() for found in map(REQUIREMENT.fullmatch, group) if found):
            bounds[name] = max(
                bound, bounds.get(name, "0"), key=lambda version: [int(part) for part in version.split(".")]
            )
    return bounds


if __name__ == "__main__":
    print("\n".join(f"{name}=={bound}" for name, bound in lower_bounds().items()))

"""The files of a release agree with each other: versions, dependencies, and the actions of the workflows."""

import re
import tomllib
from pathlib import Path

import frankwolfe as fw
from tests.oldest import lower_bounds

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
RECIPE = (ROOT / "conda" / "recipe.yaml").read_text(encoding="utf-8")
CONDA_NAMES = {"matplotlib-base": "matplotlib"}


def test_the_version_is_the_same_everywhere():
    cited = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert re.search(r"^version: (.+)$", cited, re.M)[1] == fw.__version__
    assert re.search(r'^  version: "(.+)"$', RECIPE, re.M)[1] == fw.__version__


def test_the_conda_recipe_has_the_bounds_of_the_package():
    bounds = {CONDA_NAMES.get(name, name): bound for name, bound in re.findall(r"- ([\w-]+) >=([\d.]+)", RECIPE)}
    assert bounds.pop("hatchling") == "1.25"
    assert bounds == {name: bound for name, bound in lower_bounds().items() if name != "pandas"}
    needed = re.search(r"  run:\n(.*?)  run_constraints", RECIPE, re.S)[1]
    assert {name for name in bounds if f"- {name} >" in needed} == {
        re.match(r"[\w-]+", requirement)[0] for requirement in PROJECT["dependencies"]
    }
    assert f'python_min: "{PROJECT["requires-python"].removeprefix(">=")}"' in RECIPE


def test_every_supported_python_is_tested_and_named():
    workflow = (ROOT / ".github" / "workflows" / "tests.yml").read_text(encoding="utf-8")
    versions = re.findall(r'"(3\.\d+)"', re.search(r"python: \[(.*)\]", workflow)[1])
    assert f">={versions[0]}" == PROJECT["requires-python"]
    assert versions == [f"3.{11 + k}" for k in range(len(versions))]
    named = [line.rpartition(" ")[2] for line in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", line)]
    assert set(named) <= set(versions)


def test_actions_are_pinned_to_a_commit():
    used = [
        line.split("uses:")[1].strip()
        for file in (ROOT / ".github" / "workflows").glob("*.yml")
        for line in file.read_text(encoding="utf-8").splitlines()
        if "uses:" in line
    ]
    assert len(used) > 8
    assert [use for use in used if not re.fullmatch(r"\./.*|[\w/.-]+@[0-9a-f]{40} # v[\d.]+", use)] == []

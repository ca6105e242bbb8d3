"""Public names that are loaded when they are first used.

A package lists its public names once, in the stub ``__init__.pyi`` beside its ``__init__.py``, where type checkers look
for them anyway. One line a name, ``from module import Name as Name``.
"""

import re
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

NAME = re.compile(r"^from (\S+) import (\w+) as \2$", re.MULTILINE)


def attach(package: str, file: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return ``__getattr__``, ``__dir__`` and ``__all__`` of a package, whose ``__file__`` this is."""
    home_of = {name: home for home, name in NAME.findall(Path(file).with_suffix(".pyi").read_text(encoding="utf-8"))}

    def __getattr__(name: str) -> Any:
        if name not in home_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}{_where(name, package, home_of)}")
        home = home_of[name]
        if home == package:  # a module of the package itself
            return import_module(f"{package}.{name}")
        value = getattr(import_module(home), name)
        setattr(import_module(package), name, value)  # found without this function from now on
        return value

    return __getattr__, lambda: [*home_of], [*home_of]


def _where(name: str, package: str, home_of: dict[str, str]) -> str:
    """Say which module of a package has a public name, or else which name is nearest."""
    from frankwolfe.arguments.names import nearest

    modules = [module for module, home in home_of.items() if home == package]
    found = [f"{package}.{module}" for module in modules if name in dir(import_module(f"{package}.{module}"))]
    return f": it is {found[0]}.{name}" if found else nearest(name, home_of)

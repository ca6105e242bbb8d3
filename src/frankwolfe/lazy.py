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


def attach(
    package: str, file: str, short_names_of: tuple[str, ...] = ()
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return ``__getattr__``, ``__dir__`` and ``__all__`` of a package, whose ``__file__`` this is.

    The package also has the public names of its modules ``short_names_of``, without listing them.
    """
    home_of = {name: home for home, name in NAME.findall(Path(file).with_suffix(".pyi").read_text(encoding="utf-8"))}

    def __getattr__(name: str) -> Any:
        home = home_of.get(name) or _home(name, [f"{package}.{module}" for module in short_names_of])
        if home is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}{_where(name, package, home_of)}")
        if home == package:  # a module of the package itself
            return import_module(f"{package}.{name}")
        value = getattr(import_module(home), name)
        setattr(import_module(package), name, value)  # found without this function from now on
        return value

    return __getattr__, lambda: [*home_of], [*home_of]


def _home(name: str, modules: list[str]) -> str | None:
    """Return the first of the modules that has a public name."""
    if name.startswith("_"):
        return None  # Python itself looks for names such as __path__
    return next((module for module in modules if name in import_module(module).__all__), None)


def _where(name: str, package: str, home_of: dict[str, str]) -> str:
    """Say which module of a package has a public name, or else which name is nearest."""
    from frankwolfe.arguments.names import nearest

    modules = [f"{package}.{module}" for module, home in home_of.items() if home == package]
    found = next((module for module in modules if name in dir(import_module(module))), None)
    return f": it is {found}.{name}" if found else nearest(name, home_of)

"""Bring the line numbers in docs/paper.md up to date: ``python docs/relink.py``."""

import ast
import re
from pathlib import Path

PAGE = Path(__file__).with_name("paper.md")
LINK = re.compile(r"\[`([\w.]+)`\]\((\.\./[\w/.]+\.py)#L(\d+)\)")


def line_of(path: Path, dotted: str) -> int:
    """Line on which a function, a class, a method (``Class.method``) or a name of a module is defined."""
    body: list[ast.stmt] = ast.parse(path.read_text(encoding="utf-8")).body
    for name in dotted.split("."):
        found = next((node for node in body if name in _defined(node)), None)
        if found is None:
            raise LookupError(f"{path} does not define {dotted}")
        body, line = getattr(found, "body", []), found.lineno
    return line


def _defined(node: ast.stmt) -> list[str]:
    """Names that a statement defines."""
    if isinstance(node, ast.Assign):
        return [target.id for target in node.targets if isinstance(target, ast.Name)]
    return [node.name] if isinstance(node, ast.FunctionDef | ast.ClassDef) else []


def relinked(page: str) -> str:
    """Return the page with every link pointing at the line where its name is defined."""

    def correct(link: re.Match) -> str:
        line = line_of(PAGE.parent / link[2], link[1])
        return f"[`{link[1]}`]({link[2]}#L{line})"

    return LINK.sub(correct, page)


if __name__ == "__main__":
    PAGE.write_text(relinked(PAGE.read_text(encoding="utf-8")), encoding="utf-8")

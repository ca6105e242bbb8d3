"""Bring the line numbers in docs/paper.md up to date: ``python docs/relink.py``."""

import ast
import re
from pathlib import Path

PAGE = Path(__file__).with_name("paper.md")
LINK = re.compile(r"\[`([\w.]+)`\]\((\.\./[\w/.]+\.py)#L(\d+)\)")


def line_of(path: Path, dotted: str) -> int:
    """Line on which a function, a class or a method (``Class.method``) is defined."""
    body = ast.parse(path.read_text(encoding="utf-8")).body
    for name in dotted.split("."):
        found = [node for node in body if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == name]
        if not found:
            raise LookupError(f"{path} does not define {dotted}")
        body, line = found[0].body, found[0].lineno
    return line


def relinked(page: str) -> str:
    """Return the page with every link pointing at the line where its name is defined."""

    def correct(link: re.Match) -> str:
        line = line_of(PAGE.parent / link[2], link[1])
        return f"[`{link[1]}`]({link[2]}#L{line})"

    return LINK.sub(correct, page)


if __name__ == "__main__":
    PAGE.write_text(relinked(PAGE.read_text(encoding="utf-8")), encoding="utf-8")

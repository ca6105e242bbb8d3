"""The long description for a package index: the README, without links that lead nowhere from there.

An index shows the text alone, so paths into the repository would be dead links and missing pictures. Without an address
a link becomes its text, and a picture is left out with its caption's paragraph kept. Where the files can be read on the
web, say where, and they become links and pictures again:

    FRANKWOLFE_FILES=https://.../v0.2.0 python -m build
"""

import os
import re
from pathlib import Path

from hatchling.metadata.plugin.interface import MetadataHookInterface

PICTURE = re.compile(r"!\[([^\]]*)\]\((?!https?://)([^)]+)\)")
LINK = re.compile(r"(?<!!)\[([^\]]+)\]\((?!https?://|#)([^)]+)\)")


def long_description(readme: str, files: str = "") -> str:
    """Return the README with absolute links, given where the repository's files can be read; else with none to them.

    Parameters
    ----------
    readme : str
        In Markdown.
    files : str
        Address that paths are relative to; empty if there is none.

    Returns
    -------
    str
    """
    if files:
        readme = PICTURE.sub(rf"![\1]({files.rstrip('/')}/\2)", readme)
        return LINK.sub(rf"[\1]({files.rstrip('/')}/\2)", readme)
    return LINK.sub(r"\1", re.sub(PICTURE.pattern + r"\n*", "", readme))


class LongDescription(MetadataHookInterface):
    """Hands the long description to the build."""

    def update(self, metadata: dict) -> None:
        """Add the long description to the project's metadata, in place."""
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        text = long_description(text, os.environ.get("FRANKWOLFE_FILES", ""))
        metadata["readme"] = {"content-type": "text/markdown", "text": text}

"""What is in a row store: the manifest, a JSON file that is written last.

A store is a folder. Its rows are in *shards*, each a few plain files: little-endian arrays without a header. What was
written by one call is a *part*: some shards, and beside them the targets, the weights and two numbers for each column.
The manifest names all files, with their sizes and checksums. A file that it does not name is not there.
"""

import json
import zlib
from dataclasses import asdict, dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

FORMAT, VERSION = "frankwolfe rows", 1
"""What a manifest calls itself, and the version of the layout that this library writes. It reads no newer one."""

NAME = "manifest.json"

LARGEST = 2**30
"""Most bytes of a manifest: a larger one is none."""


@dataclass(frozen=True)
class File:
    """A file of a store: its name in the folder, its size, and the CRC-32 of its bytes."""

    name: str
    bytes: int
    crc32: int


@dataclass(frozen=True)
class Shard:
    """Some rows that follow each other.

    Attributes
    ----------
    rows, entries : int
        How many rows, and how many stored entries they have.
    cuts : list of int
        Rows at which work on the shard may be cut: even parts of bounded size, by their ends.
    values, columns, starts : File
        The entries row by row; where only some are stored, the columns that they are in, and where rows begin.
    """

    rows: int
    entries: int
    cuts: list[int]
    values: File
    columns: File | None = None
    starts: File | None = None

    @property
    def files(self) -> list[File]:
        """The files of the rows."""
        return [file for file in (self.values, self.columns, self.starts) if file is not None]

    @property
    def bytes(self) -> int:
        """Size of the rows."""
        return sum(file.bytes for file in self.files)


@dataclass(frozen=True)
class Part:
    """What one call has written: shards, and what goes with their rows and with the columns.

    ``counts`` are the stored entries of each column, ``squares`` the sums of their squares.
    """

    shards: list[Shard]
    counts: File
    squares: File
    targets: File | None = None
    weights: File | None = None

    @property
    def rows(self) -> int:
        """Number of rows."""
        return sum(shard.rows for shard in self.shards)

    @property
    def files(self) -> list[File]:
        """All files of the part."""
        beside = [file for file in (self.counts, self.squares, self.targets, self.weights) if file is not None]
        return [*chain.from_iterable(shard.files for shard in self.shards), *beside]


@dataclass(frozen=True)
class Manifest:
    """What a store holds.

    Attributes
    ----------
    layout : str
        ``"csr"`` or ``"dense"``.
    columns : int
        Number of columns.
    values, indices : str
        Types: ``"float32"`` or ``"float64"``; ``"int32"`` or ``"int64"``.
    outputs : int
        Numbers in a target, where it is a row of them; 0 where it is one.
    names : list of str or None
        Names of the columns.
    classes : list or None
        What the targets, class numbers then, stand for.
    first_column : int
        What the source called the first column: 0, or 1 in most svmlight files.
    parts : list of Part
        The rows.
    """

    layout: str
    columns: int
    values: str
    indices: str
    outputs: int = 0
    names: list[str] | None = None
    classes: list[Any] | None = None
    first_column: int = 0
    parts: list[Part] = field(default_factory=list)

    @property
    def shards(self) -> list[Shard]:
        """All shards, in the order of the rows."""
        return list(chain.from_iterable(part.shards for part in self.parts))

    @property
    def rows(self) -> int:
        """Number of rows."""
        return sum(part.rows for part in self.parts)

    def text(self) -> str:
        """Return the manifest as JSON, with a checksum of its own."""
        content = {"format": FORMAT, "version": VERSION, **asdict(self)}
        return json.dumps({**content, "crc32": _checksum(content)}, indent=1)


def _checksum(content: dict[str, Any]) -> int:
    return zlib.crc32(json.dumps(content, sort_keys=True, separators=(",", ":")).encode())


def read_manifest(folder: Path) -> Manifest:
    """Read the manifest of a store, or say what is wrong with it."""
    path = folder / NAME
    if not folder.exists():
        raise FileNotFoundError(f"{folder} does not exist")
    if not folder.is_dir():
        raise ValueError(f"{folder} is a file, not a row store: fw.write_rows(store, {str(folder)!r}) makes one of it")
    if not path.is_file():
        raise ValueError(f"{folder} is not a row store: it has no {NAME}. fw.write_rows makes one")
    if path.stat().st_size > LARGEST:
        raise ValueError(f"{path} is larger than the manifest of any row store")
    try:
        content = json.loads(path.read_bytes())
    except ValueError:
        raise ValueError(f"{path} is damaged, or not whole: it is not JSON") from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise ValueError(f"{path} is not the manifest of a row store")
    if content.get("version") != VERSION:
        raise ValueError(
            f"{path} has version {content.get('version')!r} of the format; this version of frankwolfe reads {VERSION}: "
            "install a newer one, or write the store anew"
        )
    if content.pop("crc32", None) != _checksum(content):
        raise ValueError(f"{path} is damaged: its checksum does not fit its content")
    try:
        return _built(content)
    except (KeyError, TypeError, ValueError, AttributeError):
        raise ValueError(f"{path} is not a manifest that this library has written") from None


def _built(content: dict[str, Any]) -> Manifest:
    known = {name: value for name, value in content.items() if name not in ("format", "version", "parts")}
    found = Manifest(**known, parts=[_part(**part) for part in content["parts"]])
    if found.layout not in ("csr", "dense") or found.values not in ("float32", "float64"):
        raise ValueError
    if found.indices not in ("int32", "int64") or not all(_is_plain(file.name) for file in _files(found)):
        raise ValueError
    return found


def _files(manifest: Manifest) -> list[File]:
    return list(chain.from_iterable(part.files for part in manifest.parts))


def _is_plain(name: str) -> bool:
    """Whether a name is one of a file in the folder itself."""
    return bool(name) and Path(name).name == name and name not in (".", "..")


def _file(content: dict[str, Any] | None) -> File | None:
    return None if content is None else File(str(content["name"]), int(content["bytes"]), int(content["crc32"]))


def _part(shards: list[dict[str, Any]], **files: Any) -> Part:
    found = [
        Shard(
            int(shard["rows"]),
            int(shard["entries"]),
            [int(row) for row in shard["cuts"]],
            **{name: _file(shard[name]) for name in ("values", "columns", "starts")},  # type: ignore[arg-type]
        )
        for shard in shards
    ]
    return Part(found, **{name: _file(file) for name, file in files.items()})  # type: ignore[arg-type]

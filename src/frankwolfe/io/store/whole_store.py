"""Stores that are there whole or not at all: how a folder is written, and named."""

import re
import shutil
from collections.abc import Generator
from contextlib import closing
from pathlib import Path

from frankwolfe.data.store.manifest import NAME, Manifest, read_manifest
from frankwolfe.io.store.row_writer import RowBlock, Wanted, Writer
from frankwolfe.io.store.store_lock import one_writer
from frankwolfe.storage.atomic import new_unfinished, replacing, unfinished_of

OWN_NAME = re.compile(r"(\d{6,}-(values|columns|starts)|part-\d+-(counts|squares|targets|weights))\.bin")
"""Names that the files of a store have."""


def write_blocks(path: Path, blocks: Generator[RowBlock], wanted: Wanted, append: bool = False) -> None:
    """Write blocks of rows to a new store, or at the end of one. It is there whole, or as it was.

    A new store is written to a folder beside it, which takes its name at the end. What is appended lies in the folder
    unnamed, until a new manifest takes the place of the old one. What killed writers have left is removed first.
    """
    if not path.parent.is_dir():
        raise FileNotFoundError(f"{path.parent} does not exist: make the folder first")
    with one_writer(path):
        for left in unfinished_of(path):
            shutil.rmtree(left, ignore_errors=True)
        if append:
            before = read_manifest(path)
            _remove_unnamed(path, before)
            writer = Writer(path, wanted, before)
            _written(writer, blocks, path)
            _name(path, writer.manifest(before.parts))
            return
        if path.exists():
            raise FileExistsError(f"{path} exists already: remove it, choose another name, or add to it by append=True")
        unfinished = new_unfinished(path)
        unfinished.mkdir()
        try:
            writer = Writer(unfinished, wanted)
            _written(writer, blocks, path)
            _name(unfinished, writer.manifest([]))
            unfinished.rename(path)
        finally:
            shutil.rmtree(unfinished, ignore_errors=True)


def _remove_unnamed(folder: Path, manifest: Manifest) -> None:
    """Remove the files of a store that its manifest does not name: a writer that was killed has left them."""
    named = {file.name for part in manifest.parts for file in part.files}
    for file in folder.iterdir():
        if OWN_NAME.fullmatch(file.name) and file.name not in named:
            file.unlink()


def _written(writer: Writer, blocks: Generator[RowBlock], path: Path) -> None:
    """Write all blocks; if that fails, remove what was written."""
    try:
        with closing(blocks):  # also after an error: files that are read are let go of at once
            for block in blocks:
                writer.take(block)
        writer.finish()
    except OSError as error:
        rows = writer.rows
        writer.undo()
        if error.errno is None:
            raise
        # the kind of the error stays what it was; the message says what became of the store
        told = (
            f"{error.strerror} after {rows:,} rows: {path} was not written, and what there was of it has been removed"
        )
        raise OSError(error.errno, told, error.filename) from error
    except BaseException:
        writer.undo()
        raise


def _name(folder: Path, manifest: Manifest) -> None:
    with replacing(folder / NAME) as stream:
        stream.write(manifest.text().encode())

"""``frankwolfe convert``: make a row store of a file, for data larger than memory."""

from pathlib import Path

import click

from frankwolfe.cli.options import COLUMN_ROLES, DATA, OUT, Options
from frankwolfe.cli.output import answering, on_terminal, show


@click.command(short_help="Convert a file to a row store, for data larger than memory.")
@DATA
@OUT(required=True, help="Folder to create.")
@Options.declared(*COLUMN_ROLES)
@click.option("--float32", is_flag=True, help="Keep seven digits: half the space, and half the time to read.")
@click.option("--shard", default="16MiB", show_default=True, help="Size of the pieces that are read.")
@click.option("--append", is_flag=True, help="Add to a store that exists.")
def convert(
    data: Path,
    out: Path,
    target: tuple[str, ...],
    weights: str | None,
    ignore: tuple[str, ...],
    float32: bool,
    shard: str,
    append: bool,
) -> None:
    """Convert the file DATA to a row store: a folder from which 'frankwolfe fit' reads rows as it needs them.

    The file is read once, a piece at a time, and every value is checked. If there is a mistake, nothing is written.
    """
    with answering():
        from frankwolfe.store.write_rows import write_rows

        store = write_rows(
            out,
            data,
            target=target,
            weights=weights,
            ignore=ignore,
            dtype="float32" if float32 else None,
            shard=shard,
            append=append,
            progress=on_terminal(),
        )
    n, d = store.shape
    stored = f", {store.nnz:,} stored values" if store.is_sparse else ""
    targets = "none" if store.y is None else "numbers" if store.classes is None else f"{len(store.classes)} classes"
    show(
        [
            ("store", f"{out}: {n:,} rows, {d:,} columns{stored}, {store.dtype}"),
            ("target", targets),
            ("size", f"{store.bytes:,} bytes in {len(store.shards):,} shards"),
        ]
    )

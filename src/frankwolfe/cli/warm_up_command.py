"""``frankwolfe warm-up``: compile before the first fit."""

from typing import Any

import click

from frankwolfe.cli.options import Options, loss_option, method_option, set_option
from frankwolfe.cli.output import answering, on_terminal


@click.command("warm-up", short_help="Compile before the first fit, for containers and clusters.")
@loss_option("losses", multiple=True, help="{names}; may be repeated.  [default: logistic, multinomial, squared]")
@set_option("constraints", multiple=True, help="{names}; may be repeated.  [default: l1]")
@method_option("methods", multiple=True, help="{names}; may be repeated.  [default: auto]")
@Options.declared("quiet")
def warm_up(quiet: bool, **names: Any) -> None:
    """Compile combinations of losses, sets and methods, so that later commands and programs load them from disk.

    Each is compiled for dense and sparse rows, with and without an intercept. The code is kept where NUMBA_CACHE_DIR
    says, by default next to the package.
    """
    with answering():
        from frankwolfe.precompile import warm_up as compile_all

        chosen = {kind: given for kind, given in names.items() if given}
        seconds = compile_all(**chosen, progress=on_terminal(quiet))
    if not quiet:
        click.echo(f"compiled or loaded in {seconds:.3g} s: later processes load the code from disk")

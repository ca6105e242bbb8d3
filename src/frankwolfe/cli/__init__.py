"""The command line. Only click is imported before a command runs."""

import gc

try:
    import click
except ImportError:
    raise SystemExit("the command line needs click: pip install 'frankwolfe[cli]'") from None

from frankwolfe import __version__
from frankwolfe.cli.fit_commands import fit, path, ranges
from frankwolfe.cli.model_commands import info, predict, verify
from frankwolfe.cli.other_commands import convert, reproduce, warm_up
from frankwolfe.cli.output import CommandGroup


@click.group(cls=CommandGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="frankwolfe")
def main() -> None:
    """Learn linear models under constraints, with certificates of how good they are.

    Data is a CSV file with a header line, a Parquet file or an svmlight file, each also as .gz, .bz2 or .xz; or a
    folder that 'convert' has written.

    Exit codes: 0 success; 1 interrupted; 2 a mistake in the command or the data; 3 written, but not certified to the
    tolerance; 4 the output could not be written.
    """
    gc.set_threshold(100_000)  # imported modules stay: collections among them take an eighth of the start-up time


for command in (info, fit, predict, path, ranges, verify, convert, reproduce, warm_up):
    main.add_command(command)

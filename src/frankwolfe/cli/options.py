"""Options that several commands share, and the record that carries their values.

Only click is imported here: the names of losses, sets and methods are looked up when they are needed.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial, reduce
from importlib import import_module
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem


@dataclass(frozen=True)
class Options:
    """The values of shared options. A command that does not declare one of them leaves its default."""

    target: tuple[str, ...] = ()
    loss: str | None = None
    constraint: str = "l1"
    weights: str | None = None
    offset: str | None = None
    exposure: str | None = None
    ignore: tuple[str, ...] = ()
    no_intercept: bool = False
    radius: float | None = None
    class_weight: tuple[str, ...] = ()
    bound: tuple[str, ...] = ()
    condition: tuple[str, ...] = ()
    monotone: tuple[str, ...] = ()
    no_radius: bool = False
    memory: str | None = None
    standardize: bool = False
    categorical: tuple[str, ...] = ()
    missing: str = "refuse"
    holdout: float | None = None
    folds: int | None = None
    scoring: str | None = None
    method: str = "auto"
    tol: float = 1e-4
    max_passes: float = 1000.0
    max_seconds: float | None = None
    seed: int = 0
    quiet: bool = False
    stop: str = "proven"
    checkpoint: Path | None = None
    resume: bool = False
    cluster: str | None = None
    workers: int | None = None

    @property
    def intercept(self) -> bool:
        """Whether there is an intercept."""
        return not self.no_intercept

    @property
    def fill(self) -> bool:
        """Whether missing values are filled."""
        return self.missing == "mean"

    @property
    def rules(self) -> list[str]:
        """The rules on weights, as they are written."""
        return [*self.bound, *self.condition, *self.monotone]

    @property
    def run(self) -> dict[str, Any]:
        """The arguments of `frankwolfe.minimize` that concern every run."""
        names = ("method", "tol", "max_passes", "max_seconds")
        return {name: getattr(self, name) for name in names} | {"random_state": self.seed}

    def given(self, *names: str) -> list[str]:
        """Return those of the named options whose value is not the default, as they are written."""
        return [f"--{name.replace('_', '-')}" for name in names if getattr(self, name) != getattr(Options, name)]


class NameOption(click.Option):
    """An option for a name from a table of the library, such as ``frankwolfe.losses.LOSSES``.

    The names complete in the shell and replace ``{names}`` in the help. They are looked up only then, because that
    imports the library. The command checks the name, with better advice than click gives.
    """

    def __init__(self, *args: Any, table: str, **more: Any):
        super().__init__(*args, metavar="NAME", **more)
        self.table = table

    def names(self) -> list[str]:
        """Return the names in the table."""
        module, _, table = self.table.rpartition(".")
        return list(getattr(import_module(module), table))

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Return the names with a prefix."""
        return [CompletionItem(name) for name in self.names() if name.startswith(incomplete)]

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """Return the help with the names."""
        names = self.names()
        self.help = (self.help or "").replace("{names}", f"{', '.join(names[:-1])} or {names[-1]}")
        return super().get_help_record(ctx)


loss_option = partial(click.option, "--loss", cls=NameOption, table="frankwolfe.losses.LOSSES")
set_option = partial(click.option, "--set", cls=NameOption, table="frankwolfe.sets.named.SETS")
method_option = partial(click.option, "--method", cls=NameOption, table="frankwolfe.methods.registry.METHODS")
file_type = click.Path(path_type=Path)


def together(*options: Callable) -> Callable:
    """Return a decorator that adds several options to a command."""
    return lambda command: reduce(lambda decorated, option: option(decorated), reversed(options), command)


def _silence(ctx: click.Context, param: click.Parameter, quiet: bool) -> bool:
    """Drop notices about compilation until the command ends."""
    if quiet:
        from frankwolfe.compile.waiting import notices_to

        ctx.with_resource(notices_to(lambda notice: None))
    return quiet


DATA = click.argument("data", type=file_type)

OUT = partial(click.option, "--out", "-o", type=file_type)

COLUMN_ROLES = together(
    click.option(
        "--target",
        "-t",
        multiple=True,
        metavar="COLUMN",
        help="Column to predict; several for multitask-squared. Not for svmlight.",
    ),
    click.option("--weights", metavar="COLUMN", help="Column of sample weights."),
    click.option("--ignore", multiple=True, metavar="COLUMN", help="Column to leave out; may be repeated."),
)

OFFSETS = together(
    click.option("--offset", metavar="COLUMN", help="Column of numbers that are added to the predictions."),
    click.option(
        "--exposure",
        metavar="COLUMN",
        help="Column of positive numbers that multiply means, such as years of counts; for poisson, gamma and tweedie.",
    ),
)

PROBLEM = together(
    COLUMN_ROLES,
    OFFSETS,
    loss_option(help="{names}.  [default: logistic for two classes, multinomial for more, squared for numbers]"),
    set_option(
        "constraint",
        default=Options.constraint,
        show_default=True,
        help="{names}; trace and group for several outputs.",
    ),
    click.option("--no-intercept", is_flag=True, help="Fit no intercept."),
)

COLUMNS = together(
    click.option(
        "--standardize",
        is_flag=True,
        help="Give every column of numbers variance 1, and mean 0 if there is an intercept (svmlight: variance only). "
        "The model does the same to new rows.",
    ),
    click.option(
        "--categorical",
        multiple=True,
        is_flag=False,
        flag_value="",  # without a name: all columns of text
        metavar="[COLUMN]",
        help="Column of categories, one 0/1 column each; may be repeated. Without a name (last, or before another "
        "option): all columns of text.",
    ),
    click.option(
        "--missing",
        type=click.Choice(["refuse", "mean"]),
        default=Options.missing,
        show_default=True,
        help="Missing values: refuse them, or replace them by the mean of the column. A missing category is a category "
        "of its own.",
    ),
)

CLASS_WEIGHT = click.option(
    "--class-weight",
    multiple=True,
    metavar="CLASS=WEIGHT",
    help="Weight of the rows of a class; may be repeated, others have weight 1. Or: balanced, so that all classes have "
    "the same total weight.",
)

RULES = together(
    click.option(
        "--bound",
        multiple=True,
        metavar="RULE",
        help="Bound on weights, by the name of a column or a pattern: 'price <= 0', 'tv_* >= 0', '0 <= share <= 1'; "
        "may be repeated. Rules hold on the scale of the file, with --standardize too.",
    ),
    click.option(
        "--condition",
        multiple=True,
        metavar="RULE",
        help="Linear condition on several weights: 'a + b == 1', 'income >= rent', 'sum(\"tv_*\") <= 2'; may be "
        "repeated. Names that are no identifiers stand in backticks: '`colour=red` >= `colour=blue`'.",
    ),
    click.option(
        "--monotone",
        multiple=True,
        metavar="RULE",
        help="Weights that rise or fall in the order of the columns, or of a list: 'age_*: increasing', "
        "'low,mid,high: decreasing'; may be repeated.",
    ),
)

HELD_OUT = together(
    click.option(
        "--holdout",
        type=click.FloatRange(0.0, 1.0, min_open=True, max_open=True),
        metavar="FRACTION",
        help="Hold out a part of the rows, such as 0.2, and print the score on it of a model fitted to the others.",
    ),
    click.option(
        "--folds",
        type=click.IntRange(2),
        metavar="K",
        help="Cross-validate: hold out each of K parts in turn, and print the mean score.",
    ),
    click.option(
        "--scoring",
        type=click.Choice(["loss", "accuracy", "balanced-accuracy", "roc-auc", "rmse", "mae", "r2"]),
        help="Score of the rows held out, by which 'path' compares radii.  [default: the loss; for squared ones rmse]",
    ),
)

QUIET = click.option(
    "--quiet", "-q", is_flag=True, callback=_silence, help="Show no progress and no notices on the terminal."
)

RUN = together(
    method_option(default=Options.method, show_default=True, help="{names}."),
    click.option(
        "--tol",
        type=float,
        default=Options.tol,
        show_default=True,
        help="Largest gap, as a part of the objective of zero weights.",
    ),
    click.option(
        "--max-passes",
        type=float,
        default=Options.max_passes,
        show_default=True,
        help="Budget in passes over the data.",
    ),
    click.option("--max-seconds", type=float, help="Budget of each run in seconds, without compilation."),
    click.option(
        "--seed", type=int, default=Options.seed, show_default=True, help="Seed of stochastic methods and splits."
    ),
    QUIET,
)

MEMORY = click.option(
    "--memory",
    metavar="SIZE",
    help="Memory for rows and copied columns of a row store, such as 2GB. A run says first how much it takes in all.  "
    "[default: 1GiB]",
)

CHECKPOINT = together(
    click.option(
        "--checkpoint",
        type=file_type,
        metavar="FILE",
        help="Save the state of the run to a file, every minute and at its end.",
    ),
    click.option("--resume", is_flag=True, help="Continue from the --checkpoint file, if it exists; else start."),
)

CLUSTER = together(
    click.option(
        "--cluster",
        metavar="ADDRESS",
        help="Leave the rows on the workers of a Dask cluster, such as tcp://10.0.0.1:8786. DATA is a row store or "
        "Parquet, which they must reach.",
    ),
    click.option(
        "--workers",
        type=click.IntRange(1),
        metavar="N",
        help="The same on N worker processes of this machine, started for this run.",
    ),
)

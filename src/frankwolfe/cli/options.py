"""Options that several commands share, and the record that carries their values.

Only click is imported here: the names of losses, sets and methods are looked up when they are needed.
"""

from collections.abc import Callable
from dataclasses import Field, dataclass, field, fields
from functools import partial, reduce
from importlib import import_module
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem


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


def _silence(ctx: click.Context, param: click.Parameter, quiet: bool) -> bool:
    """Drop notices about compilation until the command ends."""
    if quiet:
        from frankwolfe.compile.kernels import notices_to

        ctx.with_resource(notices_to(lambda notice: None))
    return quiet


def option(*spellings: str, default: Any = None, **settings: Any) -> Any:
    """Return a field of `Options` with the settings of its click option.

    The option is spelt as the field, unless one of ``spellings`` begins with ``--``.
    """
    return field(default=default, metadata={"spellings": spellings, **settings})


@dataclass(frozen=True)
class Options:
    """The shared options and their values. A command that does not declare one of them leaves its default."""

    target: tuple[str, ...] = option(
        "-t", default=(), metavar="COLUMN", help="Column to predict; several for multitask-squared. Not for svmlight."
    )
    weights: str | None = option(metavar="COLUMN", help="Column of sample weights.")
    ignore: tuple[str, ...] = option(default=(), metavar="COLUMN", help="Column to leave out; may be repeated.")
    offset: str | None = option(metavar="COLUMN", help="Column of numbers that are added to the predictions.")
    exposure: str | None = option(
        metavar="COLUMN",
        help="Column of positive numbers that multiply means, such as years of counts; for poisson, gamma and tweedie.",
    )
    loss: str | None = option(
        table="frankwolfe.losses.LOSSES",
        help="{names}.  [default: logistic for two classes, multinomial for more, squared for numbers]",
    )
    constraint: str = option(
        "--set", default="l1", table="frankwolfe.sets.named.SETS", help="{names}; trace and group for several outputs."
    )
    no_intercept: bool = option(default=False, help="Fit no intercept.")
    radius: float | None = option(
        type=float, help="Radius of the set; 'frankwolfe info' suggests some.  [default: 10; simplex: 1]"
    )
    no_radius: bool = option(
        default=False, help="No set beside the rules: all weights that keep them. Columns are standardised."
    )
    class_weight: tuple[str, ...] = option(
        default=(),
        metavar="CLASS=WEIGHT",
        help="Weight of the rows of a class; may be repeated, others have weight 1. Or: balanced, so that all classes "
        "have the same total weight.",
    )
    bound: tuple[str, ...] = option(
        default=(),
        metavar="RULE",
        help="Bound on weights, by the name of a column or a pattern: 'price <= 0', 'tv_* >= 0', '0 <= share <= 1'; "
        "may be repeated. Rules hold on the scale of the file, with --standardize too.",
    )
    condition: tuple[str, ...] = option(
        default=(),
        metavar="RULE",
        help="Linear condition on several weights: 'a + b == 1', 'income >= rent', 'sum(\"tv_*\") <= 2'; may be "
        "repeated. Names that are no identifiers stand in backticks: '`colour=red` >= `colour=blue`'.",
    )
    monotone: tuple[str, ...] = option(
        default=(),
        metavar="RULE",
        help="Weights that rise or fall in the order of the columns, or of a list: 'age_*: increasing', "
        "'low,mid,high: decreasing'; may be repeated.",
    )
    standardize: bool = option(
        default=False,
        help="Give every column of numbers variance 1, and mean 0 if there is an intercept (svmlight: variance only). "
        "The model does the same to new rows.",
    )
    categorical: tuple[str, ...] = option(
        default=(),
        is_flag=False,
        flag_value="",  # without a name: all columns of text
        metavar="[COLUMN]",
        help="Column of categories, one 0/1 column each; may be repeated. Without a name (last, or before another "
        "option): all columns of text.",
    )
    missing: str = option(
        default="refuse",
        type=click.Choice(["refuse", "mean"]),
        help="Missing values: refuse them, or replace them by the mean of the column. A missing category is a category "
        "of its own.",
    )
    holdout: float | None = option(
        type=click.FloatRange(0.0, 1.0, min_open=True, max_open=True),
        metavar="FRACTION",
        help="Hold out a part of the rows, such as 0.2, and print the score on it of a model fitted to the others.",
    )
    folds: int | None = option(
        type=click.IntRange(2),
        metavar="K",
        help="Cross-validate: hold out each of K parts in turn, and print the mean score.",
    )
    scoring: str | None = option(
        type=click.Choice(["loss", "accuracy", "balanced-accuracy", "roc-auc", "rmse", "mae", "r2"]),
        help="Score of the rows held out, by which 'path' compares radii.  [default: the loss; for squared ones rmse]",
    )
    method: str = option(default="auto", table="frankwolfe.methods.registry.METHODS", help="{names}.")
    tol: float = option(default=1e-4, help="Largest gap, as a part of the objective of zero weights.")
    max_passes: float = option(default=1000.0, help="Budget in passes over the data.")
    max_seconds: float | None = option(type=float, help="Budget of each run in seconds, without compilation.")
    seed: int = option(default=0, help="Seed of stochastic methods and splits.")
    quiet: bool = option(
        "-q", default=False, callback=_silence, help="Show no progress and no notices on the terminal."
    )
    stop: str = option(
        default="proven",
        type=click.Choice(["proven", "likely"]),
        help="When to stop: at a proven gap, or at one that a sample of rows makes likely, which needs a convex loss, "
        "--no-intercept and --method sfw.",
    )
    checkpoint: Path | None = option(  # noqa: RUF009 (a field)
        type=file_type, metavar="FILE", help="Save the state of the run to a file, every minute and at its end."
    )
    resume: bool = option(default=False, help="Continue from the --checkpoint file, if it exists; else start.")
    memory: str | None = option(
        metavar="SIZE",
        help="Memory for rows and copied columns of a row store, such as 2GB. A run says first how much it takes in "
        "all.  [default: 1GiB]",
    )
    cluster: str | None = option(
        metavar="ADDRESS",
        help="Leave the rows on the workers of a Dask cluster, such as tcp://10.0.0.1:8786. DATA is a row store or "
        "Parquet, which they must reach.",
    )
    workers: int | None = option(
        type=click.IntRange(1),
        metavar="N",
        help="The same on N worker processes of this machine, started for this run.",
    )

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

    @classmethod
    def declared(cls, *names: str) -> Callable:
        """Return a decorator that declares some of the options for a command."""
        declared = {part.name: _declared(part) for part in fields(cls)}
        return lambda command: reduce(lambda decorated, name: declared[name](decorated), reversed(names), command)


def _declared(part: Field) -> Callable:
    """Return the click option of a field."""
    settings = dict(part.metadata)
    spellings = settings.pop("spellings")
    if not any(spelling.startswith("--") for spelling in spellings):
        spellings = (f"--{part.name.replace('_', '-')}", *spellings)
    if "table" in settings:
        settings["cls"] = NameOption
    if part.default == ():
        return click.option(*spellings, part.name, multiple=True, **settings)
    if part.default is False:
        return click.option(*spellings, part.name, is_flag=True, **settings)
    shown = part.default is not None
    return click.option(*spellings, part.name, default=part.default, show_default=shown, **settings)


COLUMN_ROLES = ("target", "weights", "ignore")
OFFSETS = ("offset", "exposure")
PROBLEM = (*COLUMN_ROLES, *OFFSETS, "loss", "constraint", "no_intercept")
COLUMNS = ("standardize", "categorical", "missing")
RULES = ("bound", "condition", "monotone")
HELD_OUT = ("holdout", "folds", "scoring")
RUN = ("method", "tol", "max_passes", "max_seconds", "seed", "quiet")

DATA = click.argument("data", type=file_type)

OUT = partial(click.option, "--out", "-o", type=file_type)

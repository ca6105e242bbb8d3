"""Options that several commands share, and the cluster that some of them name.

Only click is imported here: the names of losses, sets and methods are looked up when they are needed.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial, wraps
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click
from click.shell_completion import CompletionItem


class Name(click.ParamType):
    """A name from a table of the library. The shell completes it; the command checks it."""

    name = "name"

    def __init__(self, module: str, table: str):
        self.module, self.table = module, table

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Return the names with a prefix."""
        return [CompletionItem(name) for name in self.names() if name.startswith(incomplete)]

    def names(self) -> list[str]:
        """Return the names in the table."""
        return list(getattr(import_module(self.module), self.table))


class NamedOption(click.Option):
    """An option for a `Name`. The names replace ``{names}`` in its help."""

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """Return the help. The names are looked up only now, since that imports the library."""
        assert isinstance(self.type, Name)
        names = self.type.names()
        self.help = (self.help or "").replace("{names}", f"{', '.join(names[:-1])} or {names[-1]}")
        return super().get_help_record(ctx)


loss_option = partial(click.option, "--loss", type=Name("frankwolfe.losses", "LOSSES"), cls=NamedOption)
set_option = partial(click.option, "--set", type=Name("frankwolfe.sets", "SETS"), cls=NamedOption)
method_option = partial(click.option, "--method", type=Name("frankwolfe.methods.registry", "METHODS"), cls=NamedOption)


def gathered(name: str, kind: Any, *options: Callable) -> Callable:
    """Return a decorator that adds several options and passes them as one NamedTuple, the argument ``name``."""

    def decorate(command: Callable) -> Callable:
        @wraps(command)
        def gathering(**given: Any) -> Any:
            values = kind(**{field: given.pop(field) for field in kind._fields})
            return command(**given, **{name: values})

        decorated: Callable = gathering
        for option in reversed(options):
            decorated = option(decorated)
        return decorated

    return decorate


def missing_values(other: str, help: str) -> Callable:
    """Return the option ``--missing``: refuse missing values, or the other choice."""
    choice = click.Choice(["refuse", other])
    return click.option("--missing", type=choice, default="refuse", show_default=True, help=help)


class ProblemOptions(NamedTuple):
    """The columns of the data, the loss and the set."""

    target: tuple[str, ...] = ()
    loss: str | None = None
    constraint: str = "l1"
    weights: str | None = None
    ignore: tuple[str, ...] = ()
    no_intercept: bool = False

    @property
    def intercept(self) -> bool:
        """Whether there is an intercept."""
        return not self.no_intercept


class ColumnOptions(NamedTuple):
    """The preparation of the columns."""

    standardize: bool = False
    categorical: tuple[str, ...] = ()
    missing: str = "refuse"

    @property
    def fill(self) -> bool:
        """Whether missing values are filled."""
        return self.missing == "mean"


class HeldOut(NamedTuple):
    """The fraction of rows to hold out, or the number of folds, and the score."""

    holdout: float | None
    folds: int | None
    scoring: str | None


class RunOptions(NamedTuple):
    """Method, tolerance and budget of a run."""

    method: str
    tol: float
    max_passes: float
    max_seconds: float | None
    seed: int
    quiet: bool

    def options(self) -> dict[str, Any]:
        """Return the arguments of `frankwolfe.minimize`."""
        named = self._asdict()
        del named["quiet"]
        return {"random_state": named.pop("seed"), **named}


class CheckpointOptions(NamedTuple):
    """The checkpoint file of a run, and whether to resume from it."""

    checkpoint: Path | None
    resume: bool

    def options(self) -> dict[str, Any]:
        """Return the arguments of `frankwolfe.cli.output.minimized`; raise ValueError if they contradict each other."""
        path = self.checkpoint
        if path is None:
            if self.resume:
                raise ValueError("--resume needs --checkpoint, the file to go on from")
            return {}
        if not path.exists():
            return {"checkpoint": path}
        if not self.resume:
            raise ValueError(f"{path} exists: go on from it with --resume, or remove it")
        return {"resumed": path}


MEMORY = click.option(
    "--memory",
    metavar="SIZE",
    help="Of a row store: how much of its rows, and of copies of its columns, may be in memory (2GB). A run says "
    "before it begins how much it takes in all.  [default: 1GiB]",
)

DATA = click.argument("data", type=click.Path(path_type=Path))

PROBLEM = gathered(
    "problem",
    ProblemOptions,
    click.option(
        "--target",
        "-t",
        multiple=True,
        metavar="COLUMN",
        help="Column to predict; several for multitask-squared. Not for svmlight.",
    ),
    loss_option(
        "loss", help="{names}.  [default: logistic for two classes, multinomial for more, squared for numbers]"
    ),
    set_option("constraint", default="l1", show_default=True, help="{names}; trace and group for several outputs."),
    click.option("--weights", metavar="COLUMN", help="Column of sample weights."),
    click.option("--ignore", multiple=True, metavar="COLUMN", help="Column to leave out; may be repeated."),
    click.option("--no-intercept", is_flag=True, help="Leave the free intercept out."),
)

COLUMNS = gathered(
    "columns",
    ColumnOptions,
    click.option(
        "--standardize",
        is_flag=True,
        help="Give every column of numbers variance 1, and mean 0 where there is an intercept (svmlight: variance "
        "only); kept in the model.",
    ),
    click.option(
        "--categorical",
        multiple=True,
        is_flag=False,
        flag_value="",  # without a name: all that hold text
        metavar="[COLUMN]",
        help="Column of categories, one 0/1 column each; may be repeated. Without a name (last, or before "
        "another option): all columns of text.",
    ),
    missing_values(
        "mean",
        "Missing values: refuse them, or take the mean of the column, kept in the model (missing categories are "
        "a category).",
    ),
)

CLASS_WEIGHT = click.option(
    "--class-weight",
    multiple=True,
    metavar="CLASS=WEIGHT",
    help="Weight of the rows of a class; may be repeated, others have weight 1. Or: balanced, so that all classes have "
    "the same total weight.",
)

HELD_OUT = gathered(
    "held_out",
    HeldOut,
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


def _silenced(ctx: click.Context, param: click.Parameter, quiet: bool) -> bool:
    """Drop notices about compilation until the command ends."""
    if quiet:
        from frankwolfe.compile.waiting import notices_to

        ctx.with_resource(notices_to(lambda notice: None))
    return quiet


QUIET = click.option(
    "--quiet", "-q", is_flag=True, callback=_silenced, help="Show no progress and no notices on the terminal."
)

RUN = gathered(
    "run",
    RunOptions,
    method_option("method", default="auto", show_default=True, help="{names}."),
    click.option("--tol", type=float, default=1e-4, show_default=True, help="Gap, relative to F(0)."),
    click.option("--max-passes", type=float, default=1000.0, show_default=True, help="Budget in passes over the data."),
    click.option("--max-seconds", type=float, help="Budget in seconds of each run, compilation aside."),
    click.option("--seed", type=int, default=0, show_default=True, help="Of stochastic methods and splits."),
    QUIET,
)

CHECKPOINT = gathered(
    "checkpoints",
    CheckpointOptions,
    click.option(
        "--checkpoint",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="Keep the state of the run in a file, every minute and at its end.",
    ),
    click.option(
        "--resume", is_flag=True, help="Go on from the --checkpoint, if there is one; else start.  [default: start]"
    ),
)


if TYPE_CHECKING:
    from dask.distributed import Client

SECONDS = 10.0
"""Time limit for a scheduler to answer, and for its workers."""


class ClusterOptions(NamedTuple):
    """The address of a scheduler, or the number of workers to start; by default neither."""

    cluster: str | None
    workers: int | None

    @property
    def given(self) -> bool:
        """Whether the rows are on workers."""
        return self.cluster is not None or self.workers is not None

    def check(self) -> None:
        """Raise an error if no client can be made."""
        if self.cluster is not None and self.workers is not None:
            raise ValueError("--cluster and --workers exclude each other: a cluster has its own workers")
        if find_spec("distributed") is None:
            raise ImportError("--cluster and --workers need dask: pip install 'frankwolfe[dask]'")

    @contextmanager
    def client(self) -> "Iterator[Client]":
        """Yield a client; raise ValueError if the scheduler does not answer or has no workers."""
        with _connected(self.cluster) if self.cluster is not None else _started(self.workers or 1) as found:
            yield found


@contextmanager
def _connected(address: str) -> "Iterator[Client]":
    """Yield a client of a scheduler that runs already."""
    from dask.distributed import Client

    start = f"start some: dask worker {address}"
    try:
        client = Client(address, timeout=SECONDS)
    except (OSError, TimeoutError):
        raise ValueError(
            f"no scheduler answers at {address} within {SECONDS:g} seconds: is it running (dask scheduler), and is "
            "this the address that it prints?"
        ) from None
    except ValueError as error:
        raise ValueError(f"{address!r} is no address of a scheduler, such as tcp://10.0.0.1:8786: {error}") from None
    with client:
        try:
            client.wait_for_workers(1, timeout=SECONDS)
        except TimeoutError:
            raise ValueError(f"the scheduler at {address} has no workers: {start}") from None
        yield client


@contextmanager
def _started(workers: int) -> "Iterator[Client]":
    """Yield a client of worker processes on this machine, which end with the block."""
    import logging

    from dask.distributed import Client, LocalCluster

    from frankwolfe.linalg.threads import available_cores

    threads = max(1, available_cores() // workers)
    with (
        LocalCluster(
            n_workers=workers,
            threads_per_worker=threads,
            processes=True,
            dashboard_address=":0",  # any port that is free
            silence_logs=logging.CRITICAL,
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


CLUSTER: Any = gathered(
    "cluster_options",
    ClusterOptions,
    click.option(
        "--cluster",
        metavar="ADDRESS",
        help="Leave the rows on the workers of a Dask cluster, such as tcp://10.0.0.1:8786; for row stores and "
        "Parquet, which they must reach.",
    ),
    click.option(
        "--workers",
        type=click.IntRange(1),
        metavar="N",
        help="The same on N worker processes of this machine, started for this run.",
    ),
)

"""``frankwolfe info``: describe a file, and suggest radii."""

from pathlib import Path
from typing import Any

import click

from frankwolfe.cli.options import COLUMNS, DATA, PROBLEM, Options
from frankwolfe.cli.output import answering, show, show_prices, show_weights

WEIGHTS = 20
"""Number of weights that are shown of a model."""


@click.command(short_help="Describe a file and suggest radii, or describe a model.")
@DATA
@Options.declared(*PROBLEM, *COLUMNS)
def info(data: Path, **given: Any) -> None:
    """Describe the file DATA: its size, its target, how evenly rows share a step, and radii to try.

    Or a model that 'frankwolfe fit' wrote: its rules, its certificate and its weights.
    """
    with answering():
        from frankwolfe.model.saved_models import is_model

        if data.is_file() and is_model(data):
            _show_model(data)
            return
        import numpy as np

        from frankwolfe.cli.problems import facts, specify
        from frankwolfe.path import radius_grid

        spec = specify(data, Options(**given))
        problem, preparation = spec.problem()
        stored = problem.X.nnz if problem.samples.rows.is_sparse else np.count_nonzero(problem.X)
        radii = ", ".join(f"{float(f'{radius:.2g}'):g}" for radius in radius_grid(problem, 5))  # two digits
        kappa = problem.kappa() / problem.n
        rows = [
            *facts(data, spec, problem, preparation),
            ("density", f"{stored / (problem.n * problem.d):.3g}"),
            ("kappa / n", f"{kappa:.3g} (from 1 / n to 1; stochastic steps gain where it is small)"),
            ("radii to try", f"{radii} (the constraint hardly matters at the last)"),
        ]
    show(rows)


def _show_model(path: Path) -> None:
    """Print what a saved model holds."""
    import numpy as np

    from frankwolfe.compile.part import short
    from frankwolfe.model.saved_models import load_model
    from frankwolfe.summary import verdict

    model = load_model(path)
    run, intercept = model.run, np.ravel(model.unscaled()[1])
    nonzero = f"{np.count_nonzero(model.weights):,} of {model.weights.size:,} weights not zero"
    rows = [
        ("model", f"{path}, by {run.method} from {run.rows:,} rows (frankwolfe {model.versions['frankwolfe']})"),
        *([("target", ", ".join(model.target))] if model.target else []),
        *([] if model.classes is None else [("classes", ", ".join(map(str, model.classes)))]),
        ("loss", short(model.loss).removesuffix("()")),
        ("set", f"{short(model.constraint)}, {nonzero}"),
        *([("rules", "; ".join(model.rules))] if model.rules else []),
        *([("intercept", ", ".join(f"{value:.6g}" for value in intercept[:6]))] if intercept.any() else []),
        ("objective", f"{run.fun:.8g}" if run.fun < np.inf else "not evaluated"),
        ("certificate", ". ".join(verdict(run, bool(model.rules)))),
    ]
    show(rows, {"certificate": "green" if run.success else "yellow"})
    show_weights(model, WEIGHTS)
    show_prices(model)

"""Record the answers anew: ``python -m tests.frozen [pattern]``. Say in the commit why they may change."""

import sys
import tempfile
from fnmatch import fnmatch
from pathlib import Path

from tests.frozen import problems, record


def main(pattern: str) -> None:
    """Run all cases whose name fits, and write the file; cases that are refused are left out."""
    from dask.distributed import Client, LocalCluster

    answers = record.recorded()
    with (
        tempfile.TemporaryDirectory() as folder,
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=50) as cluster,
        Client(cluster),
    ):
        families = (problems.of_methods(), problems.of_sets(), problems.of_losses(), problems.of_outputs())
        for case in (c for f in (*families, problems.of_stores(Path(folder)), problems.of_clusters()) for c in f):
            if not fnmatch(case.name, pattern):
                continue
            try:
                answers[case.name] = record.answer(case)
            except (ValueError, TypeError) as error:
                answers.pop(case.name, None)
                print(f"left out: {case.name}: {str(error)[:150]}")
    record.write(answers)
    print(f"{len(answers)} answers")


if __name__ == "__main__":
    main(sys.argv[1] if sys.argv[1:] else "*")

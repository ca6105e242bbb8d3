"""The code of docs/cluster.md runs."""

import re
from pathlib import Path

import numpy as np
import pytest

dd = pytest.importorskip("dask.dataframe")
pd = pytest.importorskip("pandas")

PAGE = Path(__file__).parents[2] / "docs" / "cluster.md"


def test_the_code_of_the_page_runs(client, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    (tmp_path / "patients").mkdir()
    for k in range(3):
        table = pd.DataFrame(rng.normal(size=(40, 2)), columns=["age", "dose"])
        table["outcome"] = np.where(table.age + rng.logistic(size=40) > 0.0, "yes", "no")
        table.to_parquet(tmp_path / "patients" / f"{k}.parquet")
    names = {}
    for block in re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.S):
        exec(block.replace("tcp://10.0.0.1:8786", client.scheduler.address), names)
    assert names["model"].result_.success
    assert names["likely"].compute().shape == (120, 2)
    names["client"].close()

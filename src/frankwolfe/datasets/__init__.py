"""The paper's three problems: where their data comes from, how it is prepared, and what it is called.

Each table has three sources, and says which one it came from:

- ``folder``: a file in the folder named by the environment variable FRANKWOLFE_DATA;
- ``original``: scikit-learn's own fetchers, which need a connection the first time;
- ``stand-in``: made or bundled, always there. A stand-in is never called by the original's name.

A folder that was named is taken first, because somebody chose it; then the original; then the stand-in.
"""

from frankwolfe.datasets.loading import FOLDER_VARIABLE, RECIPES, Table, load
from frankwolfe.datasets.stand_ins import housing_like, text_like

__all__ = ["FOLDER_VARIABLE", "RECIPES", "Table", "housing_like", "load", "text_like"]

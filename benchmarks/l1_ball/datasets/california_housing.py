"""California Housing, from the folder in FRANKWOLFE_DATA."""

from benchopt import BaseDataset

from benchmark_utils.tables import from_folder


class Dataset(BaseDataset):
    """California Housing, squared loss."""

    name = "california-housing"
    title = "California Housing"
    parameters = {"radius": [0.1]}

    def get_data(self):
        return from_folder("california_housing.npz", self.title, "squared", self.radius)

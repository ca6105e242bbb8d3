"""w8a, from the folder in FRANKWOLFE_DATA."""

from benchopt import BaseDataset

from benchmark_utils.tables import from_folder


class Dataset(BaseDataset):
    """w8a, logistic loss."""

    name = "w8a"
    title = "w8a"
    parameters = {"radius": [50.0]}

    def get_data(self):
        return from_folder("w8a.npz", self.title, "logistic", self.radius)

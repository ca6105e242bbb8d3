"""Breast Cancer, from the folder in FRANKWOLFE_DATA."""

from benchopt import BaseDataset

from benchmark_utils.tables import from_folder


class Dataset(BaseDataset):
    """Breast Cancer, logistic loss."""

    name = "breast-cancer"
    title = "Breast Cancer"
    parameters = {"radius": [5.0]}

    def get_data(self):
        return from_folder("breast_cancer.npz", self.title, "logistic", self.radius)

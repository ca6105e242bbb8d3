"""RCV1 subset, from the folder in FRANKWOLFE_DATA."""

from benchopt import BaseDataset

from benchmark_utils.tables import from_folder


class Dataset(BaseDataset):
    """RCV1 subset, logistic loss."""

    name = "rcv1-subset"
    title = "RCV1 subset"
    parameters = {"radius": [100.0, 1000.0, 5000.0]}

    def get_data(self):
        return from_folder("rcv1_subset.npz", self.title, "logistic", self.radius)

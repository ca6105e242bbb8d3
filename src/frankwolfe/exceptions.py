"""Errors and warnings that users catch or silence."""


class ClusterError(RuntimeError):
    """A run on a cluster cannot go on: workers, the connection or a chunk of the data are lost.

    A run with ``checkpoint=`` can be resumed from its file once the cluster is well again.

    Examples
    --------
    >>> import frankwolfe as fw
    >>> issubclass(fw.exceptions.ClusterError, RuntimeError)
    True
    """


class CheckpointWarning(UserWarning):
    """A checkpoint could not be written; the run goes on, and the file that was there before is still whole.

    Examples
    --------
    >>> import warnings, frankwolfe as fw
    >>> warnings.simplefilter("always", fw.exceptions.CheckpointWarning)
    """


class ScaleWarning(UserWarning):
    """The scale of the columns, or a small radius, keeps an estimator from fitting; the text says what to do.

    Examples
    --------
    >>> import warnings, frankwolfe as fw
    >>> warnings.simplefilter("ignore", fw.exceptions.ScaleWarning)  # for those who know
    """

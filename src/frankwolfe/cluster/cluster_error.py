"""What goes wrong with a cluster, as one kind of error."""


class ClusterError(RuntimeError):
    """A run on a cluster cannot go on: workers, the connection or a chunk of the data are lost.

    A run that was given ``checkpoint=`` can be resumed from it once the cluster is well again.

    Examples
    --------
    >>> import frankwolfe as fw
    >>> issubclass(fw.ClusterError, RuntimeError)
    True
    """

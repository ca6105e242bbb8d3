"""Where rows are: in memory, on disk, on a cluster."""

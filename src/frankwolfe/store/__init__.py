"""Row stores: folders of shards on disk, read and written."""

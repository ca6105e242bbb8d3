"""Files that a user hands in or gets: data in three formats, and writing that leaves no halves."""

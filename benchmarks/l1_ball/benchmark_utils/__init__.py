"""What several files of this benchmark share."""

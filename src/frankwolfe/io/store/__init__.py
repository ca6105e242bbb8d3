"""Row stores, written: from blocks of anything, or from data files."""

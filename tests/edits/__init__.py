"""Files of ours that somebody edited, with checksums that fit: refused by name or used rightly; no process ends."""

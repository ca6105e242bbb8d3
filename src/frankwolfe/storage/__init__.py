"""Files of arrays and numbers: atomic writes, and reads that validate sizes and never run code."""

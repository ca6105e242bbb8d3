"""Files of plain arrays and numbers, written whole or not at all, and read with care."""

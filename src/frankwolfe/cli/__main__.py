"""``python -m frankwolfe.cli``."""

from frankwolfe.cli import main

main(prog_name="frankwolfe")

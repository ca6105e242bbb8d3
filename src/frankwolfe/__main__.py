"""Run the command line: ``python -m frankwolfe``."""

from frankwolfe.cli import main

if __name__ == "__main__":
    main(prog_name="frankwolfe")

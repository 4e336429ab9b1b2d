"""One file per runner, and `catalog.py` with one line for each."""

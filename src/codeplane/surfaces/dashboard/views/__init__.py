"""One module per page, listed in `catalog.py`."""

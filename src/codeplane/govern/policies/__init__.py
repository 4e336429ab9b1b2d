"""The policies of the gate, one file each; `catalog.py` has their fixed order."""

"""Words that everybody shares: paths, hashing, canonical JSON, time, ids, errors, settings, logs, processes, events.

Invariants: nothing here knows the product's other packages; time, ids, randomness, processes and the environment enter
the program here and are passed on as arguments.
It deliberately holds no state and no table of any feature.
"""

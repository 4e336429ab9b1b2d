"""The dashboard: pages that the server shows to a person, with what every agent does and what waits for an answer.

Invariants: pages get their data from operations, as a logged-in person calls them; whatever acts needs the token of a
form of this login; no page runs a script or takes a style of its own text; nothing is imported before the first visit.
It deliberately keeps no data: a page is made from the ledger and the index each time.
"""

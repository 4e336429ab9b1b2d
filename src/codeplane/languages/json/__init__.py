"""JSON: `facts.scm` is the query."""

"""Scala: `facts.scm` is the query, and `constructs` what its patterns cannot express."""

"""GraphQL: `facts.scm` is the query."""

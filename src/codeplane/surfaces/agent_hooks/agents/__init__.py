"""One file per agent: names of its events and tools, the shape of its JSON, the answers that it honours."""

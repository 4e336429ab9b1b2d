"""CodePlane: a local control plane between AI coding agents and a Git repository."""

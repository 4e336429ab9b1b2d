"""What CodePlane knows about programming languages.

It deliberately does not read the repository: callers pass names and text.
"""

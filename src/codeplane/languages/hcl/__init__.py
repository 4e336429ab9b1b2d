"""The blocks and keys of HCL files.

Decisions about what counts:

- A block is a BLOCK named by its last label, or by its type where it has none; its path has the type and all labels,
  as in `resource.aws_instance.web`. Blocks in it are under that path.
- Attributes, and the keys of objects, are KEY. Keys below six others are left out, and keys that are computed.
"""

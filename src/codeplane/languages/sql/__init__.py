"""The statements of SQL files.

Decisions about what counts:

- What a `CREATE` statement creates is a BLOCK named as written, its schema included and its quotes left out, with the
  words before the name as the signature; the columns of a table are FIELD under it.
- `ALTER` and `DROP` statements are STATEMENT, named by what they change. A named query of a `WITH` is a BLOCK.
- Other statements have no name and are left out. Dialects differ: where the grammar does not know one, only the
  statements it cannot understand are left out.
"""

"""Spellings of names: the same name in another case or form."""


def folded(name: str) -> str:
    """Return a name without case and underscores, so that `getUser`, `get_user` and `GET_USER` are the same."""
    return name.replace("_", "").replace("-", "").casefold() or name

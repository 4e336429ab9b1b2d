"""Undo a command's changes to sections of a configuration file, and keep later changes to the rest."""


def with_change_undone(now: bytes | None, before: bytes | None, after: bytes | None) -> bytes | None:
    """Return the file without a change from `before` to `after`; None when it cannot be separated from later ones."""
    if now is None or before is None or after is None:
        return None
    if now == after:
        return before
    parts_now, parts_before, parts_after = (_sections(data) for data in (now, before, after))
    if parts_now is None or parts_before is None or parts_after is None:
        return None
    changed = [
        header for header in {**parts_before, **parts_after} if parts_before.get(header) != parts_after.get(header)
    ]
    if any(parts_now.get(header) != parts_after.get(header) for header in changed):
        return None
    kept = {header: parts_before.get(header, b"") if header in changed else text for header, text in parts_now.items()}
    # Removed sections come back at the end: their order has no meaning, since each is there once.
    back = [parts_before[header] for header in changed if header in parts_before and header not in parts_now]
    return b"".join([*kept.values(), *back])


def _sections(data: bytes) -> dict[bytes, bytes] | None:
    """Return the text of each section by its header; None when one is there twice, or the file ends within a line."""
    if data and not data.endswith(b"\n"):
        return None
    found: dict[bytes, bytes] = {b"": b""}
    header = b""
    is_continued = False
    for line in data.splitlines(keepends=True):
        if line.lstrip().startswith(b"[") and not is_continued:
            header = line.strip()
            if header in found:
                return None
            found[header] = b""
        found[header] += line
        is_continued = line.rstrip(b"\r\n").endswith(b"\\")
    return found

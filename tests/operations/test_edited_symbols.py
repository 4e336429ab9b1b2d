"""Which definitions differ between two texts of a file."""

import json

from codeplane.operations.edited_symbols import changed_symbols


def test_what_contains_a_changed_definition_is_not_listed() -> None:
    before = b"class A:\n    def f(self):\n        return 1\n\n    def g(self):\n        return 1\n"
    assert changed_symbols("a.py", before, before.replace(b"1", b"2", 1)) == ["A.f"]


def test_a_new_file_with_very_many_names_is_compared_in_linear_time() -> None:
    # With a comparison of all pairs this would take minutes, and the test would be ended.
    document = json.dumps({f"key{number}": {"version": number} for number in range(20_000)}, indent=1).encode()
    assert len(changed_symbols("package-lock.json", None, document)) >= 20_000

"""What kind of change an edit is."""

import pytest

from codeplane.govern.mutation_class import mutation_class

PYTHON = "import os\n\n\ndef area(width, height):\n    # a comment\n    return width * height\n\n\nprint(area(2, 3))\n"
GO = "package a\n\nfunc area(w int, h int) int {\n\treturn w * h\n}\n"


@pytest.mark.parametrize(
    ("path", "before", "after", "expected"),
    [
        ("a.py", PYTHON, PYTHON, "AST_REFACTOR"),
        ("a.py", PYTHON, PYTHON.replace("area", "surface"), "AST_REFACTOR"),
        ("a.py", PYTHON, PYTHON.replace("# a comment", "# another"), "AST_REFACTOR"),
        ("a.py", PYTHON, PYTHON.replace("width * height", "(width *\n        height)"), "INTENT_EVOLUTION"),
        ("a.py", PYTHON, PYTHON.replace("width * height", "width  *  height"), "AST_REFACTOR"),
        ("a.py", PYTHON, PYTHON.replace("width", "w"), "AST_REFACTOR"),
        ("a.py", PYTHON, PYTHON.replace("width", "height"), "INTENT_EVOLUTION"),
        ("a.py", PYTHON, PYTHON.replace("return width", "return height"), "INTENT_EVOLUTION"),
        ("a.py", PYTHON, PYTHON.replace("*", "+"), "INTENT_EVOLUTION"),
        ("a.py", PYTHON, PYTHON.replace("2, 3", "2, 4"), "INTENT_EVOLUTION"),
        ("a.py", PYTHON, PYTHON + "x = 1\n", "INTENT_EVOLUTION"),
        ("a.py", PYTHON, PYTHON.replace("def area(", "def area("), "AST_REFACTOR"),
        ("a.py", PYTHON, "def broken(:\n", "INTENT_EVOLUTION"),
        ("a.py", None, PYTHON, "INTENT_EVOLUTION"),
        ("a.py", PYTHON, None, "INTENT_EVOLUTION"),
        ("a.py", "if a:\n    b()\nc()\n", "if a:\n    b()\n    c()\n", "INTENT_EVOLUTION"),
        ("a.go", GO, GO.replace("area", "surface"), "AST_REFACTOR"),
        ("a.go", GO, GO.replace("\t", "    "), "AST_REFACTOR"),
        ("a.go", GO, GO.replace("w * h", "h * w"), "INTENT_EVOLUTION"),
        ("a.ts", "const a = 1;\n", "const b = 1;\n", "AST_REFACTOR"),
        ("a.ts", "const a = 'x';\n", "const a = 'y';\n", "INTENT_EVOLUTION"),
        ("notes.txt", "a\n", "b\n", "INTENT_EVOLUTION"),
    ],
)
def test_the_structure_decides(path: str, before: str | None, after: str | None, expected: str) -> None:
    found = mutation_class(path, before.encode() if before is not None else None, after.encode() if after else None)
    assert found == expected

"""Codemods: which tokens change, and that every other byte stays."""

from typing import Any

import pytest

from codeplane.controller.codemods.catalog import BUILT_IN, find_codemod, register_custom_codemod
from codeplane.controller.codemods.codemod import Codemod, CodemodError, schema

TS = "import { a } from './m';\nconst o = { a, b: a, a: 1 };\n// a\nconst s = 'a';\n"

CASES: list[tuple[str, str, str, dict[str, Any], str, int]] = [
    ("rename_identifier_in_file", "x.ts", TS, {"from": "a", "to": "c"},
     "import { c } from './m';\nconst o = { c, b: c, a: 1 };\n// a\nconst s = 'a';\n", 3),
    ("rename_identifier_in_file", "x.py", "a = 1\r\nb = {'a': a}  # a\r\nf(a=a)\r\n", {"from": "a", "to": "c"},
     "c = 1\r\nb = {'a': c}  # a\r\nf(c=c)\r\n", 4),
    ("update_import_specifier", "x.ts", "import { a } from './m';\nexport { b } from './m';\nimport('./m');\nlet t = './m';\n",
     {"fromModule": "./m", "toModule": "./n"},
     "import { a } from './n';\nexport { b } from './n';\nimport('./n');\nlet t = './m';\n", 3),
    ("update_import_specifier", "x.ts", "import { a as z, b } from './m';\n", {"fromModule": "./m", "fromName": "a", "toName": "c"},
     "import { c as z, b } from './m';\n", 1),
    ("update_import_specifier", "x.py", "from pkg.m import a, b\nimport pkg.m\n", {"fromModule": "pkg.m", "toModule": "pkg.n"},
     "from pkg.n import a, b\nimport pkg.n\n", 2),
    ("update_import_specifier", "x.py", "from m import a as z\n", {"fromModule": "m", "fromName": "a", "toName": "c"},
     "from m import c as z\n", 1),
    ("update_route_path_literal", "r.ts", "const routes = [{ path: 'old', component: A }];\nconst o = { path: 'old' };\n",
     {"from": "old", "to": "new"}, "const routes = [{ path: 'new', component: A }];\nconst o = { path: 'old' };\n", 1),
    ("rewrite_template_tag", "t.html", "<a-x [v]='1'><p>a-x</p></a-x>\n<a-x/>\n", {"fromTag": "a-x", "toTag": "b-y"},
     "<b-y [v]='1'><p>a-x</p></b-y>\n<b-y/>\n", 3),
    ("rewrite_template_tag", "c.ts", "@Component({ template: `<a-x>{{v}}</a-x>` })\nclass C {}\n", {"fromTag": "a-x", "toTag": "b-y"},
     "@Component({ template: `<b-y>{{v}}</b-y>` })\nclass C {}\n", 2),
]  # fmt: skip


@pytest.mark.parametrize(("name", "path", "before", "params", "after", "count"), CASES)
def test_a_codemod_changes_its_tokens_and_nothing_else(
    name: str, path: str, before: str, params: dict[str, Any], after: str, count: int
) -> None:
    found, n_changed = BUILT_IN[name].apply(path, before.encode(), params)
    assert (found.decode(), n_changed) == (after, count)
    if name != "rename_identifier_in_file":
        assert BUILT_IN[name].apply(path, found, params) == (found, 0)


def test_a_name_that_is_taken_is_refused() -> None:
    with pytest.raises(CodemodError, match="already occurs"):
        BUILT_IN["rename_identifier_in_file"].apply("x.py", b"a = 1\nc = a\n", {"from": "a", "to": "c"})


def test_a_language_that_is_not_parsed_is_refused() -> None:
    with pytest.raises(CodemodError, match="not parsed"):
        BUILT_IN["rename_identifier_in_file"].apply("x.unknown", b"a", {"from": "a", "to": "c"})


def test_a_registered_codemod_is_found_and_cannot_replace_a_built_in_one() -> None:
    mine = Codemod("test_upper", schema(()), lambda _path, source, _params: (source.upper(), 1))
    register_custom_codemod(mine)
    assert find_codemod("test_upper") is mine
    with pytest.raises(ValueError, match="built-in"):
        register_custom_codemod(Codemod("rewrite_template_tag", {}, mine.apply))

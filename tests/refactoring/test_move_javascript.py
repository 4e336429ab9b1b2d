"""Moves of JavaScript and TypeScript files."""

import shutil
from pathlib import Path

import pytest

from codeplane.core.processes import ProcessRequest, run_process
from codeplane.refactor.plan import QUESTION
from refactoring.planning import MoveCase, check_move, files_of, move
from support.repositories import make_repository

PKG = {"package.json": '{"name": "p"}\n'}
A = "export function f() { return 1 }\n"
CASES = (
    MoveCase(
        "specifiers without ending",
        {
            **PKG,
            "src/a.ts": A,
            "src/m.ts": "import { f } from './a';\nf();\n",
            "src/x/n.ts": 'import { f } from "../a"\nf()\n',
        },
        "src/a.ts",
        "src/x/b.ts",
        {
            "src/a.ts": None,
            "src/x/b.ts": A,
            "src/m.ts": "import { f } from './x/b';\nf();\n",
            "src/x/n.ts": 'import { f } from "./b"\nf()\n',
        },
    ),
    MoveCase(
        "endings are kept as written",
        {
            **PKG,
            "a.mjs": A,
            "m.mjs": "import { f } from './a.mjs';\nf();\n",
            "t/a.ts": A,
            "t/m.ts": "import { f } from './a.js';\nf();\n",
        },
        "t/a.ts",
        "u/b.ts",
        {"t/a.ts": None, "u/b.ts": A, "t/m.ts": "import { f } from '../u/b.js';\nf();\n"},
    ),
    MoveCase(
        "specifiers of the moved file itself",
        {
            **PKG,
            "src/c.ts": A,
            "src/style.css": "a {}\n",
            "src/a.ts": "import { f } from './c';\nimport './style.css';\nexport * from './c';\nf();\n",
        },
        "src/a.ts",
        "src/deep/er/a.ts",
        {
            "src/a.ts": None,
            "src/deep/er/a.ts": (
                "import { f } from '../../c';\nimport '../../style.css';\nexport * from '../../c';\nf();\n"
            ),
        },
    ),
    MoveCase(
        "require, dynamic import and side effects",
        {
            **PKG,
            "a.js": "exports.f = () => 1;\n",
            "m.js": "const { f } = require('./a');\nconst g = async () => import('./a');\nrequire('./a.js');\nf(g);\n",
        },
        "a.js",
        "lib/a.js",
        {
            "a.js": None,
            "lib/a.js": "exports.f = () => 1;\n",
            "m.js": (
                "const { f } = require('./lib/a');\nconst g = async () => import('./lib/a');\n"
                "require('./lib/a.js');\nf(g);\n"
            ),
        },
    ),
    MoveCase(
        "barrels and index files",
        {
            **PKG,
            "src/u/index.ts": "export { f } from './a';\n",
            "src/u/a.ts": A,
            "src/m.ts": "import { f } from './u';\nf();\n",
        },
        "src/u",
        "src/lib/v",
        {
            "src/u/index.ts": None,
            "src/u/a.ts": None,
            "src/lib/v/index.ts": "export { f } from './a';\n",
            "src/lib/v/a.ts": A,
            "src/m.ts": "import { f } from './lib/v';\nf();\n",
        },
    ),
    MoveCase(
        "paths of a configuration",
        {
            **PKG,
            "tsconfig.json": '{"compilerOptions": {"baseUrl": ".", "paths": {"@/*": ["src/*"]}}}\n',
            "src/lib/a.ts": A,
            "src/m.ts": "import { f } from '@/lib/a';\nf();\n",
        },
        "src/lib/a.ts",
        "src/core/b.ts",
        {"src/lib/a.ts": None, "src/core/b.ts": A, "src/m.ts": "import { f } from '@/core/b';\nf();\n"},
    ),
    MoveCase(
        "the base of a configuration",
        {
            **PKG,
            "tsconfig.json": '{"compilerOptions": {"baseUrl": "src"}}\n',
            "src/lib/a.ts": A,
            "src/m.ts": "import { f } from 'lib/a';\nf();\n",
        },
        "src/lib/a.ts",
        "src/core/b.ts",
        {"src/lib/a.ts": None, "src/core/b.ts": A, "src/m.ts": "import { f } from 'core/b';\nf();\n"},
    ),
    MoveCase(
        "mocks by their path, types of modules",
        {
            **PKG,
            "src/a.ts": "export type T = string;\n" + A,
            "src/m.test.ts": "jest.mock('./a');\nlet x: import('./a').T;\nimport type { T } from './a';\n",
        },
        "src/a.ts",
        "src/b.ts",
        {
            "src/a.ts": None,
            "src/b.ts": "export type T = string;\n" + A,
            "src/m.test.ts": "jest.mock('./b');\nlet x: import('./b').T;\nimport type { T } from './b';\n",
        },
    ),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.title)
def test_specifiers_follow_a_javascript_move(case: MoveCase, tmp_path: Path) -> None:
    check_move(case, tmp_path)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.title)
def test_a_move_and_its_way_back_give_every_byte(case: MoveCase, tmp_path: Path) -> None:
    root = make_repository(tmp_path / "repo", dict(case.files))
    move(root, case.source, case.target)
    move(root, case.target, case.source)
    assert files_of(root) == case.files


def test_a_path_in_a_plain_string_is_a_question(tmp_path: Path) -> None:
    files = {**PKG, "src/a.ts": A, "src/m.ts": "const worker = spawn('./a');\n"}
    root = make_repository(tmp_path / "repo", dict(files))
    draft = move(root, "src/a.ts", "src/b.ts")
    assert [(one.group, one.new) for one in draft.edits] == [(QUESTION, "./b")]
    assert draft.edits[0].why
    assert draft.edits[0].settle


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_a_moved_module_still_runs(tmp_path: Path) -> None:
    files = {
        "package.json": '{"name": "p", "type": "module"}\n',
        "a.js": "import { g } from './b.js';\nexport const f = () => g() + 1;\n",
        "b.js": "export const g = () => 1;\n",
        "m.js": "import { f } from './a.js';\nconsole.log(f());\n",
    }
    root = make_repository(tmp_path / "repo", dict(files))
    move(root, "a.js", "lib/deep/c.js")
    result = run_process(ProcessRequest((str(shutil.which("node")), "m.js"), root, 60))
    assert result.stdout_text.strip() == "2", result.stderr_text

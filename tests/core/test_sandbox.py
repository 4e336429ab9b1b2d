"""Programs in the embedded interpreter: nothing gets out, nothing hangs, and the next program runs as usual."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import codeplane
from codeplane.core.sandbox import ProgramOutcome, Sandbox, StopProgramError
from support.effort import repeated


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    made = Sandbox()
    yield made
    made.close()


FILES = [
    f"{function}({path!r})"
    for function in ("open", "__import__('pathlib').Path", "print, open")
    for path in ("/etc/passwd", "/proc/self/environ", "../../etc/passwd", "/srv", ".env", "~/.ssh/id_rsa", "/dev/zero")
]
PATHS = [
    f"from pathlib import Path\n{expression}"
    for expression in (
        "Path('/etc/passwd').read_text()",
        "list(Path('/').iterdir())",
        "Path('/tmp/x').write_text('x')",
        "Path('.').resolve()\nPath('/etc/hosts').stat()",
        "Path('/tmp/y').mkdir()",
        "Path('/etc/passwd').unlink()",
        "Path('/etc').rename('/tmp/etc')",
        "Path('/tmp/z').symlink_to('/etc')",
    )
]
MODULES = [
    f"import {name}\n{name.rpartition('.')[2] or name}.{call}"
    for name, call in (
        ("os", "system('id')"),
        ("os", "popen('id').read()"),
        ("os", "environ['HOME']"),
        ("os", "getenv('HOME')['x']"),
        ("os", "listdir('/')"),
        ("os", "remove('/etc/passwd')"),
        ("os", "kill(1, 9)"),
        ("os", "fork()"),
        ("subprocess", "run(['id'])"),
        ("socket", "socket()"),
        ("ctypes", "CDLL(None)"),
        ("sys", "modules['os'].system('id')"),
        ("sys", "_getframe()"),
        ("builtins", "open('/etc/passwd')"),
        ("importlib", "import_module('os').system('id')"),
        ("codeplane", "x"),
        ("multiprocessing", "Process()"),
        ("threading", "Thread()"),
        ("urllib.request", "urlopen('http://127.0.0.1')"),
        ("http.client", "HTTPConnection('127.0.0.1')"),
        ("shutil", "rmtree('/tmp/x')"),
        ("pickle", "loads(b'')"),
        ("gc", "get_objects()"),
        ("inspect", "stack()"),
        ("signal", "alarm(1)"),
        ("asyncio", "create_subprocess_exec('id')"),
        ("pty", "spawn('id')"),
        ("marshal", "loads(b'')"),
        ("code", "interact()"),
        ("webbrowser", "open('x')"),
    )
]
ESCAPES = [
    "().__class__.__bases__[0].__subclasses__()",
    "''.__class__.__mro__[1].__subclasses__()[0]",
    "(lambda: 0).__globals__['os']",
    "(lambda: 0).__code__.co_consts[99]",
    "search.__globals__['os'].system('id')",
    "search.__self__.context",
    "search.__closure__[0].cell_contents",
    'eval(\'__import__("os").system("id")\')',
    "exec('import os; os.system(\"id\")')",
    "compile('1', 'x', 'eval').co_code.x",
    "globals()['__builtins__']['open']('/etc/passwd')",
    "vars(search)['x']",
    "getattr(search, '__globals__')",
    "type('X', (), {'__del__': lambda s: 1/0})().x",
    "class A:\n    def __getattribute__(self, n): return 1/0\nA().x",
    "def f():\n    yield f.gi_frame\nnext(f()).x",
    "try:\n    1/0\nexcept Exception as e:\n    e.__traceback__.tb_frame.f_globals['os']",
    "'{0.__class__.__init__.__globals__[os]}'.format(search)",
    "f'{search.__globals__}'",
    "breakpoint()",
    "input('x')",
    "help('x')",
    "memoryview(b'x').obj.x",
    "object.__reduce_ex__(1, 2)[9]",
    "del __builtins__\n__builtins__.x",
]
ATTRIBUTES = [
    f"print({thing}.{attribute})"
    for thing in ("search", "print", "''", "(lambda: 0)", "ValueError('x')", "type")
    for attribute in (
        "__globals__", "__builtins__", "__subclasses__()", "__code__.co_filename", "__closure__[0].cell_contents",
        "__self__.__dict__", "__init__.__globals__", "__class__.__base__.__subclasses__()", "__loader__.path",
        "__reduce_ex__(2)",
    )
]  # fmt: skip
FORMATS = [
    "print('{0.__globals__}'.format(search))",
    "print('{0.__class__.__mro__[1]}'.format(search))",
    "print('{x.__init__.__globals__}'.format(x=ValueError()))",
    "print('%(x)s' % {'x': search.__globals__})",
    "print(f'{search.__closure__[0].cell_contents!r}')",
    "print(f'{(lambda: open(\"/etc/passwd\").read())()}')",
    "print('{0[__builtins__]}'.format(globals()))",
    "print(repr(search), str(search), format(search))",
    "print(repr(print), dir(print), dir(search), dir())",
    "print(locals(), globals(), vars())",
    "raise ValueError(search)",
    "assert False, search",
]
OUR_MODULES = [
    f"{form}\nprint({name})"
    for form, name in (
        ("import codeplane", "codeplane.__file__"),
        ("import codeplane.core.processes as p", "p.run(['id'])"),
        ("from codeplane.core import secrets", "secrets"),
        ("from codeplane.core.sandbox import Sandbox", "Sandbox()"),
        ("from codeplane.operations.perform import Door", "Door"),
        ("from codeplane.operations.catalog import OPERATIONS", "OPERATIONS['undo'].handler"),
        ("from codeplane.workspace.workspace import open_workspace", "open_workspace"),
        ("from codeplane.edit.editor import Editor", "Editor"),
        ("from codeplane.ledger.seals import Anchor", "Anchor"),
        ("from codeplane.surfaces.server import operator_token", "operator_token"),
        ("import pydantic_monty", "pydantic_monty.Monty()"),
        ("import pydantic", "pydantic.__file__"),
        ("import sqlite3", "sqlite3.connect('/etc/passwd')"),
        ("from . import run_program", "run_program"),
        ("from .. import core", "core"),
        ("x = __import__('codeplane.core.processes')", "x.core.processes"),
        ("context = context", "context.workspace"),
        ("x = calls", "x.context.workspace.root"),
    )
]
OUTPUT = [
    "print('x' * 50_000_000)",
    "while True: print('x' * 100_000)",
    "for i in range(10**9): print()",
    "print(*range(10**7))",
    "print('x', end='y' * 50_000_000)",
    "'x' * 90_000_000",
    "[['x' * 1000] * 1000] * 1000",
    "print(list(range(10**7)))",
    "raise ValueError('x' * 50_000_000)",
    "x = 'x' * 50_000_000\nx.no_such_attribute",
    "search('x' * 50_000_000)",
    "search(*range(10**6))",
    "search(**{'k' * 10**7: 1})",
    "import re\nre.match('(a+)+$', 'a' * 40 + 'b')",
]
MORE_EXHAUSTION = [
    "for i in range(10**12): pass",
    "while True:\n    try:\n        1 / 0\n    except Exception:\n        pass",
    "while True:\n    try:\n        while True: pass\n    except BaseException:\n        pass",
    "def f(): return g()\ndef g(): return f()\nf()",
    "f = lambda n: f(n)\nf(1)",
    "def f(n):\n    try:\n        return f(n)\n    except RecursionError:\n        return f(n)\nf(0)",
    "class A:\n    def __repr__(self): return repr(self)\nrepr(A())",
    "class A:\n    def __eq__(self, o): return self == o\nA() == A()",
    "x = {i: 'a' * 10**5 for i in range(10**5)}",
    "x = set(range(10**9))",
    "x = b'a' * 10**11",
    "x = 'a'.ljust(10**11)",
    "x = '{:>99999999999}'.format(1)",
    "x = f'{1:>99999999999}'",
    "x = '%99999999999d' % 1",
    "x = 'ab'.replace('', 'x' * 10**9)",
    "x = ('a' * 10**6).join(['b'] * 10**6)",
    "x = [[0] * 1000 for _ in range(10**7)]",
    "x = 1\nwhile True: x = x * x + 1",
    "x = 1 << 10**12",
    "str(7 ** 10**6)",
    "pow(3, 10**9)",
    "import re\nre.compile('(' * 10**6)",
    "import json\nx = []\nx.append(x)\njson.dumps(x)",
    "max(iter(int, 1))",
    "zip(*[range(10**9)] * 10**6)",
    "[x for x in range(10**5) for y in range(10**5)]",
    "def g(): yield from g()\nlist(g())",
    "x = 0\nwhile x < 10**15: x += 1",
    "sorted([3, 1] * 10**8)",
    "'a' in ('b' * 10**8) * 10**3",
]
EXHAUSTION = [
    "while True: pass",
    "def f(n): return f(n + 1)\nf(0)",
    "x = 'a' * 10**10",
    "x = [0] * 10**10",
    "x = []\nwhile True: x.append('a' * 1000)",
    "x = {}\ni = 0\nwhile True:\n    x[i] = i\n    i += 1",
    "2 ** 10**9",
    "10 ** 10**8 % 7",
    "x = (1,)\nfor i in range(100): x = x + x",
    "x = 'a'\nfor i in range(100): x = x + x",
    "x = []\nfor i in range(10**6): x = [x]\nprint(x)",
    "sorted(range(10**9))",
    "sum(range(10**11))",
    "list(range(10**9))",
    "'x'.join(str(i) for i in range(10**9))",
    "int('9' * 10**6)",
    "import json\njson.loads('[' * 10**6)",
    "while True: search('x')",
    "def g():\n    while True: yield 1\nlist(g())",
    "x = {}\nx['x'] = x\nprint(str(x) * 10**9)",
    "import time\ntime.sleep(1000)",
    "import asyncio\nasync def f(): await f()\nasyncio.run(f())",
    "lambda: (yield)\n[[] for _ in iter(int, 1)]",
]


SECRET = "what-only-the-server-knows"


def _search() -> Callable[..., list[str]]:
    """Return a function whose closure and defaults hold something that no program may see."""
    kept = {"secret": SECRET}
    return lambda *_args, _default=kept, **_named: [str(len(kept))]


def _check_kept_in(outcome: ProgramOutcome) -> None:
    error = outcome.error
    returned = outcome.returned if isinstance(outcome.returned, str | None) else ""
    shown = f"{outcome.printed}{returned}{error.message if error is not None else ''}"
    for leaked in ("root:", "/root", "uid=", SECRET, codeplane.__file__, str(Path.home())):
        assert leaked not in shown, shown[:500]
    assert len(outcome.printed) <= 1_000_000


def test_the_attacks_are_many_and_differ() -> None:
    short = [*FILES, *PATHS, *MODULES, *ESCAPES, *ATTRIBUTES, *FORMATS, *OUR_MODULES, *OUTPUT]
    everything = {*short, *EXHAUSTION, *MORE_EXHAUSTION}
    assert len(everything) == len(short) + len(EXHAUSTION) + len(MORE_EXHAUSTION) >= 200


@pytest.mark.parametrize("program", [*FILES, *PATHS, *MODULES, *ESCAPES, *ATTRIBUTES, *FORMATS, *OUR_MODULES])
def test_nothing_gets_out(sandbox: Sandbox, program: str) -> None:
    _check_kept_in(sandbox.run(program, {"search": _search()}))
    assert sandbox.run("1 + 1", {}).returned == 2


@pytest.mark.parametrize("program", [*OUR_MODULES, *MODULES])
def test_no_module_that_reaches_outside_is_there(sandbox: Sandbox, program: str) -> None:
    assert sandbox.run(program, {"search": _search()}).error is not None


@pytest.mark.slow
@pytest.mark.parametrize("program", OUTPUT)
def test_what_is_too_much_is_cut_or_refused(sandbox: Sandbox, program: str) -> None:
    _check_kept_in(sandbox.run(program, {"search": _search()}, seconds=1.0))
    assert sandbox.run("1 + 1", {}).returned == 2


@pytest.mark.slow
@pytest.mark.parametrize("program", [*EXHAUSTION, *MORE_EXHAUSTION[: repeated(3)]])
def test_nothing_hangs_or_takes_the_machine(sandbox: Sandbox, program: str) -> None:
    outcome = sandbox.run(program, {"search": lambda *_args: []}, seconds=1.0)
    assert outcome.error is not None
    assert sandbox.run("1 + 1", {}).returned == 2


@pytest.mark.parametrize(
    "program",
    [
        "-" * 49_000 + "1", "not " * 12_000 + "1", "(" * 49_000, "(" * 24_000 + ")" * 24_000, "[" * 49_000,
        "a." * 24_000, "1+" * 24_000 + "1", "a" + "[0]" * 16_000, "a" + "()" * 24_000, "lambda:" * 7_000 + "1",
        "{1:" * 12_000, "if 1:\n" + " if 1:\n" * 5_000, "\x00", "1\x002", "\ufeff1", "f'" + "{" * 40_000,
        "'" * 49_999, "\\\n" * 20_000, "x = 1\n" * 8_000, "1 if 1 else " * 4_000 + "1", "\f1",
        "#" * 49_000, "\r" * 49_000, "9" * 49_000, "\udcff",
    ],
    ids=range(25),
)  # fmt: skip
def test_a_text_that_is_hard_to_parse_stops_nobody(sandbox: Sandbox, program: str) -> None:
    _check_kept_in(sandbox.run(program, {}))
    assert sandbox.run("1 + 1", {}).returned == 2


@pytest.mark.parametrize(
    ("program", "returned"),
    [
        ("1 + 1", 2), ("x = 1", None), ("", None), ("# nothing", None), ("x = 5; x", 5), ("x = 5; x;", 5),
        ("(1 +\n 2)\n", 3), ("[\n1,\n2,\n]  # two", [1, 2]), ("1, 2", [1, 2]), ("(y := 4)", 4),
        ("'é', 'ü'", ["é", "ü"]), ("x = 1\r\nx\r\n", 1), ("if True:\n    7", None),
        ("'''a\nb'''", "a\nb"), ("def f():\n    return 3\nf()", 3),
        ("None", None), ("[i for i in range(3)]", [0, 1, 2]), ("'é'; 'x'", "x"), ("print('a')", None), ("True", True),
        ("{'a': {'b': (1, 2.5)}}", {"a": {"b": [1, 2.5]}}),
    ],
)  # fmt: skip
def test_the_last_expression_is_what_a_program_returns(sandbox: Sandbox, program: str, returned: object) -> None:
    outcome = sandbox.run(program, {})
    assert (outcome.returned, outcome.error) == (returned, None)


def test_an_error_in_a_function_is_on_the_program_s_own_line(sandbox: Sandbox) -> None:
    def refuse(**_named: object) -> None:
        raise ValueError("no")

    error = sandbox.run("n = 1\ndef f():\n    refuse(a=n)\n\nf()", {"refuse": refuse}).error
    assert error is not None
    assert (error.message, error.line, error.source) == ("ValueError: no", 3, "refuse(a=n)")
    error = sandbox.run("n = 1\nrefuse(\n  a=n)", {"refuse": refuse}).error
    assert error is not None
    assert (error.line, error.source) == (2, "refuse(")


def test_an_error_names_its_line_and_the_values_on_it(sandbox: Sandbox) -> None:
    error = sandbox.run("rows = [1, 2]\nwanted = 5\nprint(rows[wanted])", {}).error
    assert error is not None
    assert (error.line, error.source) == (3, "print(rows[wanted])")
    assert dict(error.values) == {"rows": "[1, 2]", "wanted": "5"}


def test_a_syntax_error_is_told(sandbox: Sandbox) -> None:
    error = sandbox.run("for x in\n", {}).error
    assert error is not None
    assert error.message.startswith("SyntaxError")


def test_a_function_s_exception_can_be_caught_and_a_stop_cannot(sandbox: Sandbox) -> None:
    def refuse() -> None:
        raise ValueError("no")

    def stop() -> None:
        raise StopProgramError

    functions: dict[str, Any] = {"refuse": refuse, "stop": stop}
    assert sandbox.run("try:\n    refuse()\nexcept ValueError as e:\n    print(e)", functions).printed == "no\n"
    with pytest.raises(StopProgramError):
        sandbox.run("try:\n    stop()\nexcept BaseException:\n    print('caught')", functions)
    assert sandbox.run("1 + 1", {}).returned == 2


def test_what_is_printed_is_bounded(sandbox: Sandbox) -> None:
    outcome = sandbox.run("for i in range(3000): print('x' * 1000)", {})
    assert (len(outcome.printed), outcome.is_cut, outcome.error) == (1_000_000, True, None)

"""Programs in the embedded interpreter: nothing gets out, nothing hangs, and the next program runs as usual."""

from collections.abc import Iterator
from typing import Any

import pytest

from codeplane.core.sandbox import Sandbox, StopProgramError


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


@pytest.mark.parametrize("program", [*FILES, *PATHS, *MODULES, *ESCAPES])
def test_nothing_gets_out(sandbox: Sandbox, program: str) -> None:
    outcome = sandbox.run(program, {"search": lambda *_args, **_named: []})
    shown = f"{outcome.printed}{outcome.returned}"
    assert outcome.error is not None or outcome.returned is None or "root:" not in shown
    assert "root:" not in shown
    assert "/root" not in shown
    assert "uid=" not in shown
    assert sandbox.run("1 + 1", {}).returned == 2


@pytest.mark.slow
@pytest.mark.parametrize("program", EXHAUSTION)
def test_nothing_hangs_or_takes_the_machine(sandbox: Sandbox, program: str) -> None:
    outcome = sandbox.run(program, {"search": lambda *_args: []}, seconds=1.0)
    assert outcome.error is not None
    assert sandbox.run("1 + 1", {}).returned == 2


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

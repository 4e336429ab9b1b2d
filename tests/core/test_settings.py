"""Settings: precedence, origins, and every way in which a source can be wrong."""

import os
import pickle
import subprocess
import sys
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any, Literal

import pytest

from codeplane.core.errors import CodePlaneError
from codeplane.core.setting_sources import MAX_FILE_BYTES, EnvironmentSource, FileSource, OverrideSource, Source
from codeplane.core.settings import Loaded, load_settings, nested, setting, setting_rows


class Mode(Enum):
    STRICT = "strict"
    RELAXED = "relaxed"


@dataclass(frozen=True, slots=True)
class Output:
    target: str = setting(doc="Where lines go.")
    format: Literal["console", "json"] = setting("console", doc="How a line looks.")
    level: str | None = setting(None, doc="Level of this output.")

    def __post_init__(self) -> None:
        if self.target == "nowhere":
            raise ValueError("target leads nowhere")


@dataclass(frozen=True, slots=True)
class Logging:
    level: str = setting("info", doc="Smallest level.", choices=("debug", "info", "warn"))
    outputs: tuple[Output, ...] = setting((Output(target="stderr"),), doc="Where logs go.")


@dataclass(frozen=True, slots=True)
class Server:
    port: int = setting(0, doc="Port; 0 for a free one.", minimum=0, maximum=65535)
    timeout: float = setting(5.0, doc="Seconds to wait.", minimum=0.1)
    is_quiet: bool = setting(False, doc="Say less.")
    mode: Mode = setting(Mode.STRICT, doc="How strict.")
    root: Path | None = setting(None, doc="Where to serve from.")
    ports: tuple[int, ...] = setting((), doc="More ports.", maximum=65535)
    names: tuple[str, ...] = setting(("a",), doc="Names.")
    title: str = setting("CodePlane", doc="What it is called.")


@dataclass(frozen=True, slots=True)
class Settings:
    logging: Logging = nested(Logging, doc="Logs.")
    server: Server = setting(Server(timeout=7.5), doc="The server.")


def load(tmp_path: Path, text: str, *later: Source) -> Loaded[Settings]:
    path = tmp_path / "config.yaml"
    path.write_text(text, encoding="utf-8")
    return load_settings(Settings, [FileSource(path, "config.yaml"), *later])


def refuse(tmp_path: Path, text: str, *later: Source) -> CodePlaneError:
    with pytest.raises(CodePlaneError) as caught:
        load(tmp_path, text, *later)
    assert caught.value.code == "CONFIG_INVALID"
    return caught.value


def environment(**variables: str) -> EnvironmentSource:
    return EnvironmentSource({f"CODEPLANE__{name}": value for name, value in variables.items()})


def test_no_sources_give_the_defaults_with_their_origin() -> None:
    loaded = load_settings(Settings, [])
    assert loaded.values == Settings()
    assert loaded.values.server.timeout == 7.5
    assert loaded.origins["server.timeout"].where == "default"
    assert loaded.origins["server.timeout"].value == 7.5


@pytest.mark.parametrize("text", ["", "\n\n", "# only a comment\n", "---\n", "server:\n", "\ufeffserver: {}\r\n"])
def test_a_file_that_sets_nothing_gives_the_defaults(tmp_path: Path, text: str) -> None:
    assert load(tmp_path, text).values == Settings()


def test_a_missing_file_sets_nothing(tmp_path: Path) -> None:
    assert load_settings(Settings, [FileSource(tmp_path / "none.yaml", "none")]).values == Settings()


def test_every_kind_of_value_is_read_from_a_file(tmp_path: Path) -> None:
    text = (
        "logging:\n  level: DEBUG\n  outputs:\n    - {format: JSON, target: /var/log/x}\n    - target: stderr\n"
        "server:\n  port: 8_080\n  timeout: 3\n  is_quiet: yes\n  mode: Relaxed\n  root: /srv\n"
        "  ports: [1, 2]\n  names: []\n  title: 1.10\n"
    )
    values = load(tmp_path, text).values
    assert values.logging == Logging("debug", (Output("/var/log/x", "json"), Output(target="stderr")))
    assert values.server == Server(8080, 3.0, True, Mode.RELAXED, Path("/srv"), (1, 2), (), "1.10")
    assert isinstance(values.server.timeout, float)


def test_later_sources_override_key_by_key_and_origins_say_so(tmp_path: Path) -> None:
    loaded = load(
        tmp_path,
        "server:\n  port: 1\n  title: file\n  names: [x, y]\n",
        environment(SERVER__PORT="2", SERVER__NAMES="z"),
        OverrideSource(["server.port=3", "logging.level=warn"]),
    )
    assert (loaded.values.server.port, loaded.values.server.names) == (3, ("z",))
    wheres = {key: origin.where for key, origin in loaded.origins.items() if origin.where != "default"}
    assert wheres == {
        "server.port": "--set",
        "server.names": "CODEPLANE__SERVER__NAMES",
        "server.title": "config.yaml:3",
        "logging.level": "--set",
    }


def test_origins_cover_every_leaf() -> None:
    keys = set(load_settings(Settings, []).origins)
    assert keys == {row.key for row in setting_rows(Settings) if "[]" not in row.key}


@pytest.mark.parametrize(
    ("name", "text", "key", "value"),
    [
        ("SERVER__PORT", "8080", "port", 8080),
        ("server__port", " 8080 ", "port", 8080),
        ("SERVER__IS_QUIET", "on", "is_quiet", True),
        ("SERVER__IS_QUIET", "1", "is_quiet", True),
        ("SERVER__IS_QUIET", "0", "is_quiet", False),
        ("SERVER__NAMES", "a, b,c", "names", ("a", "b", "c")),
        ("SERVER__NAMES", '["a,b", c]', "names", ("a,b", "c")),
        ("SERVER__NAMES", "", "names", ()),
        ("SERVER__PORTS", "1,2", "ports", (1, 2)),
        ("SERVER__ROOT", "", "root", None),
        ("SERVER__ROOT", "/x", "root", Path("/x")),
        ("SERVER__TITLE", "[x]: y # z", "title", "[x]: y # z"),
        ("SERVER", "{port: 5}", "port", 5),
    ],
)
def test_a_variable_is_read_as_its_field_wants(name: str, text: str, key: str, value: object) -> None:
    loaded = load_settings(Settings, [environment(**{name: text})])
    assert getattr(loaded.values.server, key) == value


def test_outputs_can_be_given_in_a_variable() -> None:
    loaded = load_settings(Settings, [environment(LOGGING__OUTPUTS="[{format: json, target: stdout}]")])
    assert loaded.values.logging.outputs == (Output("stdout", "json"),)


def test_names_outside_the_prefix_are_not_looked_at() -> None:
    source = EnvironmentSource({"CODEPLANE_SERVER_PORT": "x", "CODEPLANE": "x", "PATH": "x"})
    assert load_settings(Settings, [source]).values == Settings()


@pytest.mark.parametrize(
    ("item", "key", "value"),
    [
        ("server.port=9", "port", 9),
        ("server.title=a=b", "title", "a=b"),
        ("server.title='a: b'", "title", "a: b"),
        ("server.title=", "title", ""),
        ("server.root=null", "root", None),
        ("server.names=[p, q]", "names", ("p", "q")),
        ("server.names=p,q", "names", ("p", "q")),
    ],
)
def test_an_override_is_read_as_its_field_wants(item: str, key: str, value: object) -> None:
    loaded = load_settings(Settings, [OverrideSource(["server.title=first", item])])
    assert getattr(loaded.values.server, key) == value


def test_a_misspelt_key_is_answered_with_the_nearest(tmp_path: Path) -> None:
    error = refuse(tmp_path, "# top\nlogging:\n  levl: debug\n")
    assert error.message == "config.yaml:3:3: logging.levl is not a setting; did you mean logging.level?"
    assert {name: error.details[name] for name in ("source", "line", "column", "key", "nearest")} == {
        "source": "config.yaml",
        "line": 3,
        "column": 3,
        "key": "logging.levl",
        "nearest": "logging.level",
    }


@pytest.mark.parametrize(
    ("text", "nearest"),
    [
        ("loging: {}", "logging"),
        ("Logging: {}", "logging"),
        ("level: debug", "logging.level"),
        ("server: {time-out: 3}", "server.timeout"),
        ("logging: {outputs: [{target: stderr, formt: json}]}", "logging.outputs[0].format"),
        ("zzzzzzzz: 1", None),
    ],
)
def test_an_unknown_key_at_any_depth_has_its_guess(tmp_path: Path, text: str, nearest: str | None) -> None:
    assert refuse(tmp_path, text).details["nearest"] == nearest


def test_a_dotted_key_in_a_file_is_told_to_nest(tmp_path: Path) -> None:
    assert "must be written nested, as `logging: { level: … } `" in refuse(tmp_path, "logging.level: debug").message


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("server: {port: abc}", "server.port must be a whole number from 0 to 65535, not 'abc'"),
        ("server: {port: 1.5}", "server.port must be a whole number from 0 to 65535, not '1.5'"),
        ("server: {port: true}", "server.port must be a whole number from 0 to 65535, not 'true'"),
        ("server: {port: '80'}", "not the quoted text '80'"),
        ("server: {port: 65536}", "server.port must be a whole number from 0 to 65535, not '65536'"),
        ("server: {port: 010}", "not '010'"),
        ("server: {port: 1:30}", "not '1:30'"),
        ("server: {port: " + "9" * 5000 + "}", "must be a whole number"),
        ("server: {port: }", "not nothing"),
        ("server: {port: {a: 1}}", "not a mapping"),
        ("server: {port: [1]}", "not a list"),
        ("server: {timeout: .nan}", "server.timeout must be a number at least 0.1, not '.nan'"),
        ("server: {timeout: 1e999}", "server.timeout must be a number"),
        ("server: {is_quiet: 1}", "server.is_quiet must be true or false, not '1'"),
        ("server: {mode: lax}", "server.mode must be one of strict, relaxed, not 'lax'"),
        ("server: {root: ''}", "server.root must be a path or null"),
        ("server: {names: a}", "server.names must be a list of text, not 'a'"),
        ("server: {names: }", "server.names must be a list of text, not nothing"),
        ("server: {names: [a, {}]}", "server.names[1] must be text, not a mapping"),
        ("server: {ports: [1, 70000]}", "server.ports[1] must be a whole number at most 65535"),
        ("server: 5", "server must be a mapping with port, timeout"),
        ("logging: {level: loud}", "logging.level must be one of debug, info, warn, not 'loud'"),
        ("logging: {outputs: [stderr]}", "logging.outputs[0] must be a mapping with target, format, level"),
        ("logging: {outputs: [{format: json}]}", "logging.outputs[0].target is required and not set"),
        ("logging: {outputs: [{target: nowhere}]}", "logging.outputs[0] is not usable: target leads nowhere"),
        ("- a\n- b", "must hold a mapping of settings, not a list"),
        ("just text", "must hold a mapping of settings, not 'just text'"),
        ("server: {[a, b]: 1}", "server has a key that is not a plain word"),
        ("<<: {server: {}}", "<< is not a setting"),
    ],
)
def test_a_value_that_does_not_fit_is_refused(tmp_path: Path, text: str, complaint: str) -> None:
    error = refuse(tmp_path, text)
    assert complaint in error.message
    assert "\n" not in error.message
    assert len(error.message) < 300


@pytest.mark.parametrize(
    ("text", "line", "complaint"),
    [
        ("server:\n  port: 1\n  title: x\n  port: 2\n", 4, "server.port is given twice, on lines 2 and 4"),
        ("server:\n\tport: 1\n", 2, "use spaces"),
        ("server:\n  title: 'open\n", 3, "is not valid YAML"),
        ("server: {\n", 2, "is not valid YAML"),
        ("server:\n  port: 1\n port: 2\n", 3, "is not valid YAML"),
        ("server:\n  title: *none\n", 2, "undefined alias"),
        ("server: {}\n---\nserver: {}\n", 2, "more than one document"),
        ("server:\n  title: !!python/object/apply:os.system ['x']\n", 2, "tags are not allowed"),
        ("server:\n  title: !mine x\n", 2, "tags are not allowed"),
        ("server:\n  title: a\x07b\n", 2, "is not allowed"),
        ("server:\n  title: &a [*a]\n", 2, "deeper than 20"),
    ],
)
def test_broken_yaml_is_reported_with_its_line(tmp_path: Path, text: str, line: int, complaint: str) -> None:
    error = refuse(tmp_path, text)
    assert complaint in error.message
    assert error.details["line"] == line


def test_a_plain_alias_is_fine(tmp_path: Path) -> None:
    values = load(tmp_path, "server:\n  title: &t shared\n  names: [*t, *t]\n").values
    assert values.server.names == ("shared", "shared")


def test_aliases_of_aliases_do_not_explode(tmp_path: Path) -> None:
    lines = ["a: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"b{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 10)]
    assert "expands to more than 10000 values" in refuse(tmp_path, "\n".join(lines)).message


@pytest.mark.parametrize("text", ["a: 1\n" * 20_000, "a: [" + "1," * 20_000 + "]"])
def test_a_file_with_too_many_values_is_refused(tmp_path: Path, text: str) -> None:
    assert refuse(tmp_path, text).message == "config.yaml:1:1: holds more than 10000 values"


@pytest.mark.parametrize("text", ["[" * 5_000, "a: " + "{a: " * 5_000, "server: " + "[" * 30 + "]" * 30])
def test_deep_nesting_is_refused(tmp_path: Path, text: str) -> None:
    error = refuse(tmp_path, text)
    assert "nested deeper than 20 levels" in error.message
    assert error.details["line"] == 1


def test_a_file_that_is_not_utf8_names_the_line(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_bytes(b"server:\n  title: \xff\n")
    with pytest.raises(CodePlaneError, match=r"config\.yaml:2:10: is not UTF-8 text"):
        load_settings(Settings, [FileSource(path, "config.yaml")])


def test_a_file_over_the_limit_is_refused(tmp_path: Path) -> None:
    assert "larger than" in refuse(tmp_path, "#" * (MAX_FILE_BYTES + 1)).message


def test_a_directory_or_pipe_is_not_a_settings_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "pipe"):
        with pytest.raises(CodePlaneError, match="config: is not a regular file"):
            load_settings(Settings, [FileSource(path, "config")])


def test_an_unreadable_path_says_why(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(CodePlaneError, match="config: cannot be read: Not a directory"):
        load_settings(Settings, [FileSource(tmp_path / "file" / "config.yaml", "config")])


@pytest.mark.parametrize(
    ("variables", "complaint"),
    [
        ({"SERVER__PROT": "1"}, "CODEPLANE__SERVER__PROT: server.prot is not a setting; did you mean server.port?"),
        ({"": "1"}, "CODEPLANE__: is not a setting"),
        ({"SERVER____PORT": "1"}, "CODEPLANE__SERVER____PORT: server. is not a setting"),
        ({"SERVER": "5"}, "CODEPLANE__SERVER: server must be a mapping"),
        ({"SERVER__PORT": "abc"}, "CODEPLANE__SERVER__PORT: server.port must be a whole number"),
        ({"SERVER__PORT__X": "1"}, "CODEPLANE__SERVER__PORT__X: server.port must be a whole number"),
        ({"SERVER__NAMES": "[a"}, "CODEPLANE__SERVER__NAMES: server.names is not valid YAML"),
        ({"SERVER__PORT": "1", "server__port": "2"}, "server.port is also set by CODEPLANE__SERVER__PORT"),
    ],
)
def test_a_wrong_variable_is_named(variables: dict[str, str], complaint: str) -> None:
    with pytest.raises(CodePlaneError) as caught:
        load_settings(Settings, [environment(**variables)])
    assert complaint in caught.value.message
    assert caught.value.details["line"] is None


@pytest.mark.parametrize(
    ("item", "complaint"),
    [
        ("server.port", "--set: needs key=value, not 'server.port'"),
        ("=1", "--set: needs key=value"),
        ("server.prot=1", "--set: server.prot is not a setting; did you mean server.port?"),
        ("server.port=abc", "--set: server.port must be a whole number"),
        ("server.title='open", "--set: server.title is not valid YAML"),
    ],
)
def test_a_wrong_override_is_named(item: str, complaint: str) -> None:
    with pytest.raises(CodePlaneError) as caught:
        load_settings(Settings, [OverrideSource([item])])
    assert complaint in caught.value.message


def test_all_problems_of_all_sources_come_in_one_error(tmp_path: Path) -> None:
    error = refuse(
        tmp_path,
        "server: {port: x, mode: y}\nlogging: {lvl: z}\n",
        environment(SERVER__TIMEOUT="never"),
        OverrideSource(["nonsense"]),
    )
    assert len(error.message.splitlines()) == 5
    sources = [problem["source"] for problem in error.details["problems"]]
    assert sources == ["config.yaml", "config.yaml", "config.yaml", "CODEPLANE__SERVER__TIMEOUT", "--set"]
    assert error.details["expected"] == "a whole number from 0 to 65535"
    assert pickle.loads(pickle.dumps(error)).details == error.details


def test_only_ten_problems_are_spelt_out(tmp_path: Path) -> None:
    error = refuse(tmp_path, "".join(f"k{i}: 1\n" for i in range(25)))
    lines = error.message.splitlines()
    assert (len(lines), lines[-1]) == (11, "and 15 more problems")
    assert len(error.details["problems"]) == 25


def test_a_required_setting_that_is_set_nowhere_is_a_problem() -> None:
    with pytest.raises(CodePlaneError, match="settings: target is required and not set; it must be text"):
        load_settings(Output, [])


def test_a_check_of_the_class_is_reported_at_the_line_that_broke_it(tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"
    path.write_text("format: json\ntarget: nowhere\n", encoding="utf-8")
    with pytest.raises(CodePlaneError, match="c:2:1: is not usable: target leads nowhere"):
        load_settings(Output, [FileSource(path, "c")])


def test_rows_describe_every_setting() -> None:
    rows = {row.key: row for row in setting_rows(Settings)}
    assert rows["server.port"].type_text == "whole number"
    assert rows["server.port"].limits == "from 0 to 65535"
    assert rows["server.timeout"].default == 7.5
    assert rows["logging.outputs[].format"].type_text == "one of console, json"
    assert "server" not in rows


@dataclass(frozen=True, slots=True)
class Undocumented:
    port: int = field(default=1)


@dataclass(frozen=True, slots=True)
class Unloadable:
    table: dict[str, Any] = setting(doc="A table.")


def test_a_setting_without_a_doc_has_no_reference() -> None:
    with pytest.raises(TypeError, match=r"Undocumented\.port"):
        setting_rows(Undocumented)


def test_a_type_that_cannot_be_loaded_is_a_mistake_of_the_class() -> None:
    with pytest.raises(TypeError, match="settings cannot hold"):
        load_settings(Unloadable, [])


def test_yaml_is_not_imported_when_nothing_needs_it() -> None:
    program = (
        "import sys; from pathlib import Path; from dataclasses import dataclass;"
        "from codeplane.core.settings import *; from codeplane.core.setting_sources import *;"
        "C = dataclass(type('C', (), {'__annotations__': {'port': int}, 'port': 1}));"
        "sources = [FileSource(Path('no such file'), 'f'), EnvironmentSource({'CODEPLANE__PORT': '2'})];"
        "assert load_settings(C, sources).values.port == 2; assert 'yaml' not in sys.modules"
    )
    result = subprocess.run([sys.executable, "-c", program], check=False, timeout=60, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr

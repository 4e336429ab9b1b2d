"""Secrets taken out of text before it is logged, recorded or committed.

A literal anchor is looked up first and a bounded expression is tried only there, so that the work grows with the
length of the text, whatever the text is. What looks like a reference (`$NAME`, `<token>`, `get_password()`) stays.
It is a net with holes: a secret without a known shape and without a telling name passes.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

_MAX_DEPTH = 200
_MAX_KEY_BLOCK = 65_536


# It has no literal part to look for.
_DISCORD_BOT = re.compile(r"(?<![\w.-])[MNO][A-Za-z0-9_-]{23}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,40}(?![\w-])")


def redact(text: str, *, home: Path | str | None = None) -> str:
    """Return the text with each secret replaced by `[redacted:<kind>]`, and `home`, when given, by `~`."""
    text = _DISCORD_BOT.sub("[redacted:discord-token]", text) if text.count(".") >= 2 else text
    haystack = _Haystack.of(text)
    if not any(anchor in haystack.lowered for anchor in _ANCHORS):
        return _without_home(text, home)
    spans = _merged(sorted(span for find in _FINDERS for span in find(haystack)))
    pieces: list[str] = []
    position = 0
    for span in spans:
        pieces += [text[position : span.start], f"[redacted:{span.kind}]"]
        position = span.end
    pieces.append(text[position:])
    return _without_home("".join(pieces), home)


def redact_value(value: Any, *, home: Path | str | None = None) -> Any:
    """Return JSON-like data with its texts redacted; under a key named like a secret every string and number goes.

    Tuples become lists. Data nested deeper than 200 levels is cut off.
    """
    return _redacted(value, "", home, 0)


class _Haystack(NamedTuple):
    """A text and its lower-case form; the same index means the same character in both."""

    text: str
    lowered: str

    @classmethod
    def of(cls, text: str) -> "_Haystack":
        # U+0130 is the one character whose lower-case form is longer than itself.
        return cls(text, text.replace("\u0130", "i").lower())


class _Span(NamedTuple):
    """A stretch of text to take out; of two that overlap the lower rank names the kind."""

    start: int
    end: int
    rank: int
    kind: str


class _Shape(NamedTuple):
    """A secret that is known by its form alone: the expression is tried where the anchor occurs."""

    kind: str
    anchor: str
    expression: str


def _shape(kind: str, anchor: str, tail: str) -> _Shape:
    return _Shape(kind, anchor, r"(?<![A-Za-z0-9_-])" + re.escape(anchor) + tail)


@cache  # A memo of a pure function: few texts hold an anchor, and to compile all at the start takes 6 ms.
def _compiled(expression: str, flags: re.RegexFlag = re.NOFLAG) -> re.Pattern[str]:
    return re.compile(expression, flags)


_SHAPES = (
    _shape("aws-access-key-id", "AKIA", r"[0-9A-Z]{16}(?![0-9A-Za-z])"),
    _shape("aws-access-key-id", "ASIA", r"[0-9A-Z]{16}(?![0-9A-Za-z])"),
    *(_shape("github-token", f"gh{letter}_", r"[A-Za-z0-9]{30,255}+") for letter in "pousr"),
    _shape("github-token", "github_pat_", r"[A-Za-z0-9_]{40,255}+"),
    *(_shape("gitlab-token", f"gl{name}-", r"[A-Za-z0-9_.-]{16,255}+") for name in ("pat", "dt", "rt")),
    _shape("slack-token", "xox", r"[a-z]-[A-Za-z0-9-]{16,255}+"),
    _shape("slack-token", "xapp-", r"[A-Za-z0-9-]{16,255}+"),
    _Shape("slack-token", "hooks.slack.com/services/", r"hooks\.slack\.com/services/[A-Za-z0-9/]{16,255}+"),
    *(_shape("stripe-key", f"{a}k_{b}_", r"[A-Za-z0-9]{16,255}+") for a in "sr" for b in ("live", "test")),
    _shape("stripe-key", "whsec_", r"[A-Za-z0-9+/=]{24,255}+"),
    _shape("anthropic-key", "sk-ant-", r"[A-Za-z0-9_-]{20,255}+"),
    _shape("openai-key", "sk-", r"(?!ant-)(?=[A-Za-z_-]{0,200}[0-9])[A-Za-z0-9_-]{20,255}+"),
    _shape("google-key", "AIza", r"[A-Za-z0-9_-]{35}(?![A-Za-z0-9_-])"),
    _shape("google-key", "ya29.", r"[A-Za-z0-9_.-]{20,2048}+"),
    _shape("google-key", "GOCSPX-", r"[A-Za-z0-9_-]{20,255}+"),
    _shape("npm-token", "npm_", r"[A-Za-z0-9]{36}(?![A-Za-z0-9])"),
    _shape("pypi-token", "pypi-", r"AgE[A-Za-z0-9_-]{40,2048}+"),
    _shape("sendgrid-key", "SG.", r"[A-Za-z0-9_-]{16,64}\.[A-Za-z0-9_-]{16,128}"),
    *(_shape("vault-token", f"hv{letter}.", r"[A-Za-z0-9_-]{24,255}+") for letter in "sbr"),
    _shape("huggingface-token", "hf_", r"[A-Za-z0-9]{30,64}+"),
    *(_shape("shopify-token", f"shp{name}_", r"[0-9a-fA-F]{32}") for name in ("at", "ca", "pa", "ss")),
    _shape("linear-key", "lin_api_", r"[A-Za-z0-9]{32,64}+"),
    _shape("twilio-key", "SK", r"[0-9a-f]{32}(?![0-9A-Za-z])"),
    _shape("databricks-token", "dapi", r"[0-9a-f]{32}(?![0-9A-Za-z])"),
    *(_shape("digitalocean-token", f"do{letter}_v1_", r"[0-9a-f]{64}") for letter in "por"),
    _shape("mailgun-key", "key-", r"[0-9a-f]{32}(?![0-9A-Za-z])"),
    _shape("age-key", "AGE-SECRET-KEY-1", r"[0-9A-Z]{20,100}+"),
    _Shape("telegram-token", ":AA", r"(?<=\d{8}):AA[A-Za-z0-9_-]{30,45}(?![A-Za-z0-9_-])"),
    _Shape("discord-webhook", "/api/webhooks/", r"/api/webhooks/\d{10,25}/[A-Za-z0-9_-]{30,128}+"),
    *(_Shape("password-hash", f"$2{letter}$", r"\$2[aby]\$\d\d\$[A-Za-z0-9./]{53}") for letter in "aby"),
    _Shape("password-hash", "$apr1$", r"\$apr1\$[A-Za-z0-9./]{1,8}\$[A-Za-z0-9./]{22}"),
    _Shape("password-hash", "$6$", r"\$6\$[A-Za-z0-9./]{1,16}\$[A-Za-z0-9./]{80,90}"),
    _Shape("password-hash", "{SHA}", r"\{SHA\}[A-Za-z0-9+/]{27}="),
    _Shape("docker-auth", '"auth"', r'"auth"\s{0,4}:\s{0,4}"[A-Za-z0-9+/]{8,512}+={0,2}"'),
    _shape("jwt", "eyJ", r"[A-Za-z0-9_-]{5,16384}+\.eyJ[A-Za-z0-9_-]{5,65536}+(?:\.[A-Za-z0-9_-]{0,4096}+)?"),
)


def _find_shapes(haystack: _Haystack) -> Iterator[_Span]:
    text = haystack.text
    for shape in _SHAPES:
        if shape.anchor in text:
            for match in _anchored(text, text, shape.anchor, _compiled(shape.expression)):
                if set(match[0].removeprefix(shape.anchor)) <= {"X", "x"}:
                    continue
                yield _Span(match.start(), match.end(), 1, shape.kind)


_KEY_BEGIN = re.compile(r"-----BEGIN (?:[A-Z0-9]{1,20} ){0,4}PRIVATE KEY(?: BLOCK)?-----")
_KEY_END = re.compile(r"-----END [A-Z0-9 ]{0,80}-----")
_KEY_BODY = re.compile(r"[A-Za-z0-9+/=\s\\]*+")


def _find_private_keys(haystack: _Haystack) -> Iterator[_Span]:
    text = haystack.text
    end = -1
    for begin in _anchored(text, text, "-----BEGIN ", _KEY_BEGIN):
        if end < begin.end():
            # Looked up once for all blocks before it: many beginnings with one far end stay cheap.
            found = text.find("-----END ", begin.end())
            end = len(text) + _MAX_KEY_BLOCK + 1 if found < 0 else found
        closing = _KEY_END.match(text, end) if end - begin.end() <= _MAX_KEY_BLOCK else None
        body = closing or _KEY_BODY.match(text, begin.end())
        yield _Span(begin.start(), body.end() if body else begin.end(), 0, "private-key")


_URL_PASSWORD = re.compile(
    r"""://(?!\[redacted:[a-z-]{1,40}\]@)[^\s:/@"'<>`?#]{0,256}+:(?P<secret>[^\s/"'<>`?#]{1,512})@(?=[\w\[.$%{-])"""
)


def _find_url_passwords(haystack: _Haystack) -> Iterator[_Span]:
    for match in _anchored(haystack.text, haystack.text, "://", _URL_PASSWORD):
        if not _is_placeholder(match["secret"]):
            yield _Span(match.start("secret"), match.end("secret"), 2, "url-password")


_AUTHORIZATION = re.compile(
    r"""authorization\\?["']?[ \t]{0,8}[:=][ \t]{0,8}(?:[bfru]{0,2}\\?["'])?"""
    r"""(?P<scheme>(?:basic|bearer|token|digest|apikey|bot|negotiate)[ \t]{1,4}+)?(?P<secret>[^\s"',;\\]{1,16384}+)""",
    re.IGNORECASE,
)
_BEARER = re.compile(r"(?<![\w-])bearer[ \t]{1,4}(?P<secret>[\w.~+/-]{12,16384}+={0,2})", re.IGNORECASE)
_CURL_USER = re.compile(r"""(?<!\S)(?:-u|--user)[ \t=]{0,2}["']?[^\s:"']{1,128}+:(?P<secret>[^\s"']{1,256}+)""")


def _find_authorization(haystack: _Haystack) -> Iterator[_Span]:
    text, lowered = haystack
    for match in _anchored(text, lowered, "authorization", _AUTHORIZATION):
        secret = match["secret"]
        if not _is_placeholder(secret) and (match["scheme"] or _looks_random(secret)):
            yield _Span(match.start("secret"), match.end("secret"), 3, "authorization")
    for match in _anchored(text, lowered, "bearer", _BEARER):
        if _looks_random(match["secret"]):
            yield _Span(match.start("secret"), match.end("secret"), 3, "authorization")
    for anchor in ("-u", "--user"):
        for match in _anchored(text, text, anchor, _CURL_USER):
            line = text[max(0, match.start() - 200) : match.start()].rpartition("\n")[2]
            if "curl" in line and not _is_placeholder(match["secret"]):
                yield _Span(match.start("secret"), match.end("secret"), 3, "password")


# A value that stands some way from its name: `key="X" value="…"`, `- name: X` over `value: …`, `environ['X'] = …`.
_FAR_VALUE = re.compile(
    r"""(?:["'\])]{1,3}[ \t]{0,8}:?=[ \t]{0,4}|["']?,?[ \t]{0,8}value["']?[ \t]{0,4}[=:][ \t]{0,4}"""
    r"""|[ \t]{1,4}--body[ =]|[ \t]{0,4}=[ \t]{0,4}String::from\(|[ \t](?=[A-Za-z0-9+/]{32}))"""
    r"""["']?(?P<secret>[^\s"'<>;,()&#]{8,512}+)"""
)
_YAML_PAIR = re.compile(
    r"""name: *["']?[\w-]*(?:TOKEN|KEY|SECRET|PASSWORD)["']?\n\s*value: *["']?(?P<secret>[^\s"']{8,512}+)"""
)
_FAR_NAME = re.compile(r"(?:token|secret|password|(?:api|access|auth|private)[_-]?key)", re.IGNORECASE)
_NETRC = re.compile(r"login\s{1,8}\S{1,128}\s{1,8}password\s{1,8}(?P<secret>(?=\S{0,255}[0-9#!])[^\s\"']{1,256}+)")
_SSHPASS = re.compile(r"""sshpass\s{1,4}-p\s{0,4}["']?(?P<secret>[^\s"']{1,256}+)""")


def _find_far_values(haystack: _Haystack) -> Iterator[_Span]:
    text, lowered = haystack
    if any(word in lowered for word in ("token", "secret", "password", "key")):
        for name in _FAR_NAME.finditer(text):
            found = _FAR_VALUE.match(text, name.end())
            if found and _looks_random(found["secret"]) and not _is_code(found["secret"]):
                yield _Span(found.start("secret"), found.end("secret"), 9, "secret")
    for anchor, pattern in (("login", _NETRC), ("sshpass", _SSHPASS), ("name:", _YAML_PAIR)):
        for found in _anchored(text, text, anchor, pattern):
            if not _is_placeholder(found["secret"]):
                yield _Span(found.start("secret"), found.end("secret"), 3, "password")


class _Name(NamedTuple):
    """How the name of a secret ends: a literal to look for and the expression for the whole ending."""

    anchor: str
    ending: str
    kind: str


_NAMES = (
    _Name("passw", r"passw(?:ord|d)", "password"),
    _Name("passphrase", r"passphrase", "password"),
    _Name("pwd", r"pwd", "password"),
    _Name("token", r"token", "token"),
    _Name("secret", r"secret[_-]?access[_-]?key", "aws-secret-key"),
    _Name("secret", r"secret(?:[_-]?key(?:[_-]?base)?)?", "secret"),
    _Name("api", r"api[_-]?key", "api-key"),
    _Name("access", r"access[_-]?key", "api-key"),
    _Name("private", r"private[_-]?key", "api-key"),
    _Name("account", r"account[_-]?key", "api-key"),
    _Name("storage", r"storage[_-]?key", "api-key"),
    _Name("become_pass", r"become_pass", "password"),
)
# Names that end like a secret's and hold none: positions in lists, marks in token streams, the shell's directories.
_HARMLESS_KEY = re.compile(
    r"(?:.*[_.-])?(?:page|next|continuation|cancellation|cancel|sync|start|end|stop|eos|bos|pad|unk|mask|sep)[_-]?token"
    r"|.*pagetoken|(?:old)?pwd",
    re.IGNORECASE,
)
_NAME_BACKWARDS = re.compile(r"[\w.-]*+")
_SEPARATOR = (
    r"""\\?["']?(?:[ \t]{0,8}:[ \t]{0,8}[A-Za-z_][\w.\[\]| ]{0,60}?[ \t]{0,4}=[ \t]{0,4}(?=[bru]{0,2}["'])"""
    r"""|[ \t]{0,8}(?P<sign>:=|=>|[:=](?![=:]))[ \t]{0,8}|(?P<space>[ \t]{1,8}))"""
)
_VALUE = re.compile(
    r"""[bBrRuUfF]{0,2}(?:"(?P<double>(?>(?:[^"\\\n]|\\[^\n]){1,256}))|'(?P<single>(?>(?:[^'\\\n]|\\[^\n]){1,256}))"""
    r"""|\\"(?P<escaped>[^"\\\n]{1,256}+))|(?P<bare>[^\s"'`;,&<>(){}\[\]\\#|=]{1,256}+={0,2})"""
)
_ENVIRONMENT_VALUE = re.compile(r"""[^\s"'`]{1,256}+""")
# The first 256 characters decide, so that a name without a secret costs little; a secret then goes to its end.
_REST = {
    "double": re.compile(r"""(?>(?:[^"\\\n]|\\[^\n])*)"""),
    "single": re.compile(r"""(?>(?:[^'\\\n]|\\[^\n])*)"""),
    "escaped": re.compile(r"""[^"\\\n]*+"""),
    "bare": re.compile(r"""[^\s"'`;,&<>(){}\[\]\\#|=]*+={0,2}"""),
    "environment": re.compile(r"""[^\s"'`]*+"""),
}


class _Assignment(NamedTuple):
    """A value beside a telling name, with what decides whether it is a secret or a piece of a program."""

    kind: str
    key: str
    sign: str
    is_tight: bool
    starts_line: bool
    value: str = ""
    after: str = ""


def _find_assignments(haystack: _Haystack) -> Iterator[_Span]:
    text, lowered = haystack
    for rank, name in enumerate(_NAMES, start=4):
        position = lowered.find(name.anchor)
        while position >= 0:
            end = position + len(name.anchor)
            found = _compiled(f"(?P<name>{name.ending}){_SEPARATOR}", re.IGNORECASE).match(text, position)
            span = _assigned_secret(text, found, name.kind) if found else None
            if span:
                yield _Span(*span, rank, name.kind)
                end = span[1]
            position = lowered.find(name.anchor, end)


def _assigned_secret(text: str, found_name: re.Match[str], kind: str) -> tuple[int, int] | None:
    """Return where the secret with this name is, if it is one."""
    start = found_name.start()
    before = _NAME_BACKWARDS.match(text[max(0, start - 64) : start][::-1])
    key = (before[0][::-1] if before else "") + found_name["name"]
    key_start = found_name.end("name") - len(key)
    if _HARMLESS_KEY.fullmatch(key) or text.endswith("${", 0, key_start):
        return None
    if found_name["space"] and not key.startswith("--"):
        return None
    sign = found_name["sign"] or ""
    is_tight = text[found_name.start("sign") : found_name.end()] == sign == "="
    line_start = text[max(0, key_start - 80) : key_start].rpartition("\n")[2]
    assignment = _Assignment(kind, key, sign, is_tight, starts_line=not line_start.strip(" \t-"))
    if is_tight and key.isupper():
        found = _ENVIRONMENT_VALUE.match(text, found_name.end())
        if found:
            is_secret = _is_environment_secret(kind, found[0])
            return _whole(text, found.span(), "environment") if is_secret else None
    return _plain_value(text, found_name.end(), assignment)


def _plain_value(text: str, position: int, assignment: _Assignment) -> tuple[int, int] | None:
    found = _VALUE.match(text, position)
    if not found or not found.lastgroup:
        return None
    value = found[found.lastgroup]
    if found.lastgroup != "bare":
        is_secret = _is_quoted_secret(assignment.kind, value)
        return _whole(text, found.span(found.lastgroup), found.lastgroup) if is_secret else None
    bare = assignment._replace(value=value, after=text[found.end() : found.end() + 1])
    is_secret = _is_option_secret(bare) if assignment.key.startswith("--") else _is_bare_secret(bare)
    return _whole(text, found.span("bare"), "bare") if is_secret else None


def _whole(text: str, span: tuple[int, int], form: str) -> tuple[int, int]:
    rest = _REST[form].match(text, span[1])
    return span[0], rest.end() if rest else span[1]


_NO_SECRET = re.compile(
    r"none|null|nil|true|false|yes|no|undefined|default|empty|required|optional|password|passwd|token|"
    r"secret|string|str|text|bytes|int|integer|number|bool|boolean|any|object|char|varchar",
    re.IGNORECASE,
)
_PROSE_AFTER_OPTION = re.compile(
    r"a|also|an|and|argument|as|asks|at|be|by|can|cannot|flag|for|from|given|has|if|in|instead|is|it|may|"
    r"must|needs|not|of|on|only|option|options|or|parameter|prompt|prompts|reads|should|switch|takes|that|"
    r"the|then|this|to|value|was|when|which|will|with",
    re.IGNORECASE,
)
_MARKER = re.compile(r"\[redacted:[a-z-]{1,40}\]")
_PLACEHOLDER = re.compile(
    r"\[redacted:[a-z-]{1,40}\]|<.*|\{.*\}|\{\{.*|%s|%\(.*|%\w+%"
    r"|\$\{.*|\$\(.*|\$\$?[A-Z_][A-Z0-9_]*|\$[a-z_]+|\$[0-9@*#?!]"
    r"|[*.xX\u2022\u2026_-]+|(?i:your|insert|enter|example|dummy|placeholder)(?:[-_ ].*)?"
    r"|(?i:changeme|change_me|password|passwd|pass|pwd|secret|demo|test|foo|bar|read-host)|!vault",
    re.DOTALL,
)
_DOTTED_NAME = re.compile(r"[A-Za-z_]\w*(?:(?:\.|::|->)[A-Za-z_]\w*)+")
_SNAKE_NAME = re.compile(r"_{0,2}[A-Za-z]{2,}\d{0,3}(?:_+(?:[A-Za-z]{2,}\d{0,3}|\d{1,3}))+")
_NAMED_VARIABLE = re.compile(r"[A-Za-z_]{0,20}(?:password|passwd|pwd|token|secret|key)\d?", re.IGNORECASE)
_LETTERS = re.compile(r"[A-Za-z]++")
_LETTER, _DIGIT, _SPACE = re.compile(r"[^\W\d_]"), re.compile(r"\d"), re.compile(r"\s")


def _is_placeholder(value: str) -> bool:
    return _PLACEHOLDER.fullmatch(value) is not None


def _looks_random(value: str) -> bool:
    """Tell whether a value without spaces reads like a generated one rather than a word."""
    if value.isdigit():
        return len(value) >= 16
    if len(value) >= 8 and _DIGIT.search(value) and _LETTER.search(value):
        return not _SPACE.search(value)
    return len(value) >= 20 and value.isalpha() and not (value.islower() or value.isupper())


def _is_code(value: str) -> bool:
    """Tell whether a bare value reads like an expression, a path or an address."""
    if _NAMED_VARIABLE.fullmatch(value) or _SNAKE_NAME.fullmatch(value):
        return True
    if value.startswith(("/", "./", "../", "~/", "*", "-", "@")) or "://" in value:
        return True
    if not _DOTTED_NAME.fullmatch(value):
        return False
    parts: list[str] = re.split(r"\.|::|->", value)
    return 2 * sum(part.replace("_", "").isalpha() for part in parts) >= len(parts)


def _is_quoted_secret(kind: str, value: str) -> bool:
    if _is_placeholder(value) or _NO_SECRET.fullmatch(value.strip(": ")):
        return False
    if kind != "password":
        return (_looks_random(value) or (len(value) >= 16 and value.isalpha())) and "{" not in value
    is_label = " " in value and re.search(r"\b(?:password|passphrase|enter|type)\b", value, re.IGNORECASE)
    # A key at the end of a string takes the rest of the line for its value: `input("Password: ", …)`.
    return not is_label and value[0] not in " ,:;)]}"


def _is_environment_secret(kind: str, value: str) -> bool:
    if _is_placeholder(value) or _NO_SECRET.fullmatch(value) or value.endswith((")", "(")):
        return False
    if value.startswith(("/", "./", "../", "~/")) or "://" in value or _DOTTED_NAME.fullmatch(value):
        return False
    return kind == "password" or not value.isdigit() or len(value) >= 16


def _is_option_secret(assignment: _Assignment) -> bool:
    value = assignment.value
    if _is_placeholder(value) or value.startswith("-") or assignment.after in {"(", "[", "{"}:
        return False
    if assignment.kind != "password":
        return _looks_random(value) and not _is_code(value)
    return not _PROSE_AFTER_OPTION.fullmatch(value.rstrip(".:!?"))


def _is_bare_secret(assignment: _Assignment) -> bool:
    value = assignment.value
    looks_generated = all(re.search(part, value) for part in ("[a-z]", "[A-Z]", r"\d"))
    is_value = looks_generated and (value.endswith("=") or assignment.key.endswith("_pass"))
    if assignment.after in {"(", "[", "{", "<"} or _is_placeholder(value) or (_is_code(value) and not is_value):
        return False
    if assignment.kind != "password":
        return _looks_random(value)
    if not _LETTERS.fullmatch(value):
        return len(value) >= (4 if value.isdigit() else 6)
    # A single word is a password in a connection string and in YAML, and a variable or a type everywhere else.
    if _NO_SECRET.fullmatch(value) or not value.islower():
        return False
    if assignment.is_tight:
        return assignment.after in {"", " ", "&", "\n", "\r", "#"}
    return assignment.sign == ":" and assignment.starts_line and assignment.after in {"", "\n", "\r"}


_KEY_ENDINGS = (
    *((re.compile(rf"{name.ending}\Z", re.IGNORECASE), name.kind) for name in _NAMES),
    (re.compile(r"authorization\Z", re.IGNORECASE), "authorization"),
)


def _kind_of_key(key: object) -> str:
    """Return the kind of secret that a key of this name holds, or nothing."""
    if not isinstance(key, str) or _HARMLESS_KEY.fullmatch(key):
        return ""
    ending = key[-64:].strip()
    return next((kind for pattern, kind in _KEY_ENDINGS if pattern.search(ending)), "")


_FINDERS: tuple[Callable[[_Haystack], Iterator[_Span]], ...] = (
    _find_private_keys,
    _find_shapes,
    _find_url_passwords,
    _find_authorization,
    _find_assignments,
    _find_far_values,
)


# Without any of these nothing can be found; nearly every text ends here. `curl` is here for its option `-u`.
_ANCHORS = tuple(
    dict.fromkeys(
        (
            *(shape.anchor.lower() for shape in _SHAPES),
            *(name.anchor for name in _NAMES),
            "-----begin ",
            "://",
            "authorization",
            "bearer",
            "curl",
            "sshpass",
        )
    )
)


def _anchored(text: str, searched: str, anchor: str, pattern: re.Pattern[str]) -> Iterator[re.Match[str]]:
    """Yield the matches that begin at an anchor, never looking twice at what one of them covered."""
    position = searched.find(anchor)
    while position >= 0:
        match = pattern.match(text, position)
        if match:
            yield match
        position = searched.find(anchor, match.end() if match else position + len(anchor))


def _merged(spans: list[_Span]) -> list[_Span]:
    """Return the spans with overlapping ones united, so that no part of any of them stays."""
    merged: list[_Span] = []
    for span in spans:
        if merged and span.start < merged[-1].end:
            last = merged.pop()
            rank, kind = min((last.rank, last.kind), (span.rank, span.kind))
            merged.append(_Span(last.start, max(last.end, span.end), rank, kind))
        else:
            merged.append(span)
    return merged


def _without_home(text: str, home: Path | str | None) -> str:
    directory = str(home).rstrip("/") if home else ""
    if not directory or directory not in text:
        return text
    # A longer path that only ends like the home directory stays, except right after a compiler's `-I`.
    return re.sub(rf"(?:(?<![\w.-])|(?<=\s-[A-Za-z])){re.escape(directory)}(?![\w-]|\.\w)", "~", text)


def _redacted(value: Any, kind: str, home: Path | str | None, depth: int) -> Any:
    if depth > _MAX_DEPTH:
        return "[redacted:too-deep]"
    if isinstance(value, Mapping):
        return {
            _redacted(key, "", home, depth): _redacted(item, _kind_of_key(key), home, depth + 1)
            for key, item in value.items()
        }
    if isinstance(value, list | tuple):
        return [_redacted(item, kind, home, depth + 1) for item in value]
    if kind and _holds_something(value):
        return f"[redacted:{kind}]"
    return redact(value, home=home) if isinstance(value, str) else value


def _holds_something(value: Any) -> bool:
    if isinstance(value, str):
        return bool(value) and not _MARKER.fullmatch(value)
    return isinstance(value, int | float) and not isinstance(value, bool)

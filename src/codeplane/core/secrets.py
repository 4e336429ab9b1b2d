"""Which files usually hold secrets: the one list for reads, search, staging, shell commands and the gate."""

import re
import unicodedata
from typing import Final

# Directories that hold little else.
_DIRECTORIES: Final = frozenset(
    {".ssh", ".gnupg", ".aws", ".azure", ".gcloud", ".kube", ".password-store", ".terraform.d"}
)
# Places that are secret in their directory only.
_PLACES: Final = re.compile(
    r"(?:^|/)(?:\.docker/config\.json|\.config/(?:gh|gcloud|git|op|hub|rclone)|\.cargo/credentials[^/]*"
    r"|\.gem/credentials|\.m2/settings[^/]*\.xml|\.gradle/gradle\.properties|\.subversion/auth)(?:/|$)"
)
_NAMES: Final = frozenset(
    {
        ".env", ".envrc", ".netrc", "_netrc", "netrc", ".npmrc", ".yarnrc", ".yarnrc.yml", ".pypirc", ".pgpass",
        ".my.cnf", ".s3cfg", ".boto", ".dockercfg", ".git-credentials", ".gitconfig", ".htpasswd", "htpasswd",
        ".vault-token", ".terraformrc", ".bash_history", ".zsh_history", ".python_history", ".psql_history",
        ".mysql_history",
        ".node_repl_history", ".fetchmailrc", ".msmtprc", ".dev.vars", "kubeconfig", "auth.json", "wallet.dat",
        "local.settings.json", "passwd", "shadow", "token", "secret", "secrets", "credentials", "password", "passwords",
    }
)  # fmt: skip
_ENDINGS: Final = frozenset(
    {
        ".env", ".pem", ".key", ".p12", ".pfx", ".pkcs12", ".jks", ".keystore", ".kdbx", ".kdb", ".ppk", ".keytab",
        ".gpg", ".asc", ".der", ".ovpn", ".secret", ".secrets", ".token", ".tfvars", ".tfstate",
    }
)  # fmt: skip
_STARTS: Final = (
    ".env", "id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", ".vault", ".authinfo", "firebase-adminsdk", "gha-creds-",
)  # fmt: skip
_ENDS: Final = ("_rsa", "_dsa", "_ecdsa", "_ed25519", "token.json")
# Words that tell a secret in a file of data; in source code they only tell what it is about.
_WORDS: Final = re.compile(
    r"credentials?|private[_-]?key|service[_-]?account|(?:^|[._-])secrets?(?:[._-]|$)|^passwords?(?:\.|$)|\.tfstate\."
)
_DATA: Final = (
    r"json|ya?ml|toml|ini|txt|csv|xml|properties|conf|cfg|config|env|enc|bak|backup|old|orig|db|sqlite3?|plist|dist"
    r"|local|prod|production|dev|staging|gz|zip|tar|tgz|\d+"
)
_DATA_FILE: Final = re.compile(rf"[^.]*|.*\.(?:{_DATA})~?")
_DOCUMENTATION: Final = frozenset({"doc", "docs", "documentation"})
_DATA_FOLDERS: Final = frozenset({"secrets", "secret", "credentials"})
_NO_SECRETS: Final = re.compile(
    r"\.env\.(?:example|sample|template|dist)|example\.env|id_\w+\.pub|.*\.(?:example|sample|template)\.tfvars"
    r"|.*\.(?:example|sample|template)(?:\.[a-z]+)?"
)
# So much of a file is looked at for a key.
MAX_SCANNED_BYTES: Final = 16_000_000
_KEY_MARK: Final = b"PRIVATE KEY-----"
# The mark at the start of a file is a key whatever follows; further down it is one where the key itself follows.
_KEY_AT_START: Final = re.compile(rb"\s*(?:\xef\xbb\xbf)?\s*-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY-----")
_KEY_INSIDE: Final = re.compile(
    rb"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY-----(?:\s|\\[nr]|[\"'+,\\])*"
    rb"(?:(?:Proc-Type|DEK-Info|Comment)[^\n]*(?:\s|\\[nr]|[\"'+,\\])*)*[A-Za-z0-9+/=]{40}"
)

# What `cpl init` writes into `.cplignore`, where people see the usual names and can take them back.
SECRET_LINES: Final = (
    "*.env",
    ".env",
    ".env.*",
    ".envrc",
    ".env~",
    "!.env.example",
    "!.env.sample",
    "!.env.template",
    "!example.env",
    "*.pem",
    "*.key",
    "*.p12",
    "*.pfx",
    "*.jks",
    "*.keystore",
    "*.kdbx",
    "*.ppk",
    "id_rsa*",
    "id_dsa*",
    "id_ecdsa*",
    "id_ed25519*",
    "!id_*.pub",
    ".netrc",
    "_netrc",
    ".npmrc",
    ".pypirc",
    ".pgpass",
    ".my.cnf",
    ".s3cfg",
    ".boto",
    ".dockercfg",
    ".git-credentials",
    ".htpasswd",
    ".vault-token",
    "**/.aws/credentials",
    "**/.docker/config.json",
    "**/.kube/config",
    "kubeconfig",
    ".ssh/",
    ".gnupg/",
    "credentials",
    "credentials.json",
    "application_default_credentials.json",
    "gha-creds-*.json",
    "service-account*.json",
    "secrets.yml",
    "secrets.yaml",
    "secrets.json",
    "secrets.toml",
    "terraform.tfstate",
    "terraform.tfstate.*",
    "*.tfvars",
    "!*.example.tfvars",
)


def secret_rule(path: str, *, is_directory: bool = False) -> str | None:
    """Return what makes a path look secret, None when nothing does; spelling by case or width does not matter."""
    folded = path if path.isascii() else unicodedata.normalize("NFKC", path)
    parts = folded.casefold().split("/")
    # Asked for every file of a tree: what nearly never fits is looked at last.
    if not _DIRECTORIES.isdisjoint(parts):
        return f"{next(part for part in parts if part in _DIRECTORIES)}/"
    place = _PLACES.search("/".join(parts)) if len(parts) > 1 and "/." in f"/{path}" else None
    if place is not None:
        return place[0].strip("/")
    if parts[-1].endswith(".txt") and not _DOCUMENTATION.isdisjoint(parts[:-1]):
        # A page about passwords or credentials, as in documentation written in reStructuredText.
        return None
    found = None if is_directory else _rule_of_name(parts[-1], parts[-2] if len(parts) > 1 else "")
    return found if found is not None and _NO_SECRETS.fullmatch(parts[-1]) is None else None


def _rule_of_name(name: str, folder: str) -> str | None:
    ending = name[name.rfind(".") :].rstrip("~") if "." in name else ""
    if name in _NAMES or ending in _ENDINGS:
        return name if name in _NAMES else f"*{ending}"
    if name.startswith(_STARTS):
        return next(f"{one}*" for one in _STARTS if name.startswith(one))
    if name.endswith(_ENDS):
        return next(f"*{one}" for one in _ENDS if name.endswith(one))
    word = _WORDS.search(name)
    is_in_folder = folder in _DATA_FOLDERS and bool(ending)
    if (word is None and not is_in_folder) or not _DATA_FILE.fullmatch(name):
        return None
    return f"*{word[0]}*" if word is not None else f"{folder}/*{ending}"


def holds_private_key(data: bytes) -> bool:
    """Tell whether content holds a private key, at its start or further down."""
    if _KEY_MARK not in data:
        return False
    return _KEY_AT_START.match(data) is not None or _KEY_INSIDE.search(data) is not None

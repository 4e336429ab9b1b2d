"""The programs that only read, with the options that are known to be harmless on Debian and macOS.

What is missing is missing on purpose: options that write, run something, read lists of names from files, or wait.
"""

import re
from dataclasses import replace
from types import MappingProxyType
from typing import Final

from codeplane.govern.shell_risk.characters import PRINTS_CONTROL, makes_control
from codeplane.govern.shell_risk.options import Given, Reader, why_not_operand
from codeplane.govern.shell_risk.places import Location

_GREP_LONG: Final = (
    "extended-regexp", "fixed-strings", "basic-regexp", "perl-regexp", "ignore-case", "no-ignore-case", "word-regexp",
    "line-regexp", "null-data", "no-messages", "invert-match", "version", "help", "byte-offset", "line-number",
    "line-buffered", "with-filename", "no-filename", "only-matching", "quiet", "silent", "text", "recursive",
    "dereference-recursive", "files-without-match", "files-with-matches", "count", "initial-tab", "null", "binary",
    "no-group-separator",
)  # fmt: skip
_GREP_VALUED: Final = (
    "regexp", "file", "max-count", "after-context", "before-context", "context", "label", "include", "exclude",
    "exclude-dir", "exclude-from", "binary-files", "directories", "devices", "group-separator",
)  # fmt: skip
_COUNTS: Final = ("A", "B", "C", "m", "-after-context", "-before-context", "-context", "-max-count")
_RG_LONG: Final = (
    "hidden", "follow", "no-follow", "no-ignore", "no-ignore-vcs", "no-ignore-parent",
    "no-ignore-global", "no-ignore-dot", "no-ignore-files",
    "ignore-case", "smart-case", "case-sensitive", "fixed-strings", "word-regexp", "line-regexp", "invert-match",
    "count", "count-matches", "files-with-matches", "files-without-match", "files", "line-number", "no-line-number",
    "column", "no-column", "heading", "no-heading", "no-filename", "with-filename", "only-matching", "multiline",
    "multiline-dotall", "pcre2", "json", "stats", "null", "null-data", "quiet", "text", "trim", "vimgrep", "pretty",
    "version", "help", "type-list", "unrestricted", "one-file-system", "no-messages", "no-config", "passthru",
    "crlf", "byte-offset", "include-zero", "glob-case-insensitive", "no-unicode", "binary", "block-buffered",
    "line-buffered", "max-columns-preview", "no-context-separator", "debug", "mmap", "no-mmap", "sort-files",
)  # fmt: skip
_RG_VALUED: Final = (
    "after-context", "before-context", "context", "regexp", "glob", "iglob", "max-count", "max-columns", "max-depth",
    "maxdepth", "type", "type-not", "type-add", "type-clear", "replace", "sort", "sortr", "threads", "encoding",
    "color", "colors", "max-filesize", "engine", "context-separator", "field-match-separator", "path-separator",
)  # fmt: skip
_LISTABLE: Final = ("/", "/tmp", "/usr", "/opt", "/etc", "/var")  # noqa: S108 - names that are only looked at.
_SUM: Final = Reader(flags="bt", long=("binary", "text", "tag", "zero"), may_glob=True, counts=True)


def _after_pattern(given: Given, location: Location) -> str | None:
    """Check counts, and the first operand, which is a file when an option gives the pattern."""
    if not all(value.isdigit() for value in given.values(*_COUNTS)):
        return "has a count that is not a number"
    if given.has("e", "f", "-regexp", "-file", "-files") and given.operands:
        return why_not_operand(given.operands[0], location)
    return None


def _only_formats(given: Given, _standing: Location) -> str | None:
    """An operand of `date` that is not a format sets the clock."""
    return None if all(word.value.startswith("+") for word in given.operands) else "sets the clock"


def _not_everything(given: Given, _standing: Location) -> str | None:
    is_all = given.has("R", "-recursive") and any(word.value in _LISTABLE for word in given.operands)
    return "lists the whole system" if is_all else None


def _no_patterns(given: Given, _standing: Location) -> str | None:
    """A pattern may become two names, and the second one is written."""
    return "a pattern may become two files" if any(word.has_glob for word in given.operands) else None


def _attached_levels(given: Given, _standing: Location) -> str | None:
    return None if all(value.isdigit() for value in given.values("L")) else "-L takes a number"


def _no_control_values(given: Given, _standing: Location) -> str | None:
    return PRINTS_CONTROL if any(makes_control(value or "") for _, value in given.options) else None


def _no_control_set(given: Given, _standing: Location) -> str | None:
    """What is in the second set of tr is printed."""
    printed = [word.value for word in given.operands[1:]]
    return PRINTS_CONTROL if any(makes_control(one) or "cntrl" in one for one in printed) else None


def _searches(given: Given, location: Location) -> str | None:
    separators = given.values("-context-separator", "-field-match-separator", "-path-separator")
    if any(makes_control(value) for value in separators):
        return PRINTS_CONTROL
    return _after_pattern(given, location)


def _no_commands(given: Given, _standing: Location) -> str | None:
    """A pager runs what follows a plus sign."""
    odd = any(word.value.startswith("+") and not re.fullmatch(r"\+(?:\d+|G)", word.value) for word in given.operands)
    return "gives commands to the pager" if odd else None


def _plain_files(given: Given, _standing: Location) -> str | None:
    """`bat cache` and `strings @file` read something else than the named file."""
    odd = any(word.value == "cache" or word.value.startswith("@") for word in given.operands)
    is_paged = any(value not in {"never", "auto"} for value in given.values("-paging"))
    return "an operand or option that may run something" if odd or is_paged else None


def _ports_only(given: Given, _standing: Location) -> str | None:
    fits = all(re.fullmatch(r"(?:tcp|udp)?:[\w-]+", word.value) for word in given.operands)
    return None if fits else "an operand that is not a port"


def _numbers_only(given: Given, _standing: Location) -> str | None:
    return None if all(word.value.isdigit() for word in given.operands) else "an operand that is not a number"


_BAT: Final = Reader(
    "pPnA", "lrH", long=("plain", "number", "show-all", "no-paging"), may_glob=True, check=_plain_files,
    long_valued=("paging", "style", "color", "theme", "language", "line-range", "highlight-line", "wrap", "tabs"),
)  # fmt: skip
_FD: Final = Reader(
    "HIusigFapL0q1", "dteESc", first_path=1, follows=(("L", "-follow"),), long=(
        "hidden", "no-ignore", "unrestricted", "case-sensitive", "ignore-case", "glob", "fixed-strings",
        "absolute-path", "full-path", "follow", "print0", "quiet", "version", "help", "no-ignore-vcs", "prune"),
    long_valued=("max-depth", "min-depth", "type", "extension", "exclude", "size", "color", "changed-within",
                 "changed-before", "max-results"),
)  # fmt: skip
_PAGER: Final = Reader("NRSFXiIEMmnsQefgcw", may_glob=True, check=_no_commands, long=(
    "LINE-NUMBERS", "RAW-CONTROL-CHARS", "chop-long-lines", "quit-if-one-screen", "no-init",
    "ignore-case"))  # fmt: skip

GREP: Final = Reader(
    "abcEFGHhIiLlnoPqRrsTUuVvwxyZz", "ABCefmDd", long=_GREP_LONG, long_valued=_GREP_VALUED,
    long_attached=("color", "colour"), paths=("f", "-file", "-exclude-from"), names=("-include",), first_path=1,
    may_glob=True, has_numbers=True, check=_after_pattern, follows=(("R", "-dereference-recursive"),),
    pattern_options=("e", "f", "-regexp", "-file"),
)  # fmt: skip

READERS: Final = MappingProxyType(
    {
        "ag": Reader("ilwQsvcS", "ABCm", first_path=1, long=("hidden", "nocolor", "column", "stats", "literal"),
                     long_valued=("ignore", "depth")),
        "arch": Reader(max_operands=0),
        "basename": Reader("az", "s", long=("multiple", "zero"), long_valued=("suffix",), first_path=-1, may_glob=True),
        "bat": _BAT,
        "batcat": _BAT,
        "cal": Reader("3yjm1", first_path=-1, check=_numbers_only),
        "cat": Reader(
            "AbeEnstTuv", may_glob=True,
            long=("show-all", "number-nonblank", "show-ends", "number", "squeeze-blank", "show-tabs",
                  "show-nonprinting"),
        ),
        "cksum": Reader(may_glob=True),
        "cmp": Reader("bls", "in", long=("print-bytes", "verbose", "silent", "quiet"),
                      long_valued=("ignore-initial", "bytes"), max_operands=4, may_glob=True),
        "column": Reader("teJxdL", "scoNRTEHOWl", may_glob=True,
                         long=("table", "json", "keep-empty-lines", "table-noheadings", "fillrows"),
                         long_valued=("separator", "columns", "output-separator", "output-width", "table-columns",
                                      "table-right", "table-name", "table-hide", "table-order", "table-truncate",
                                      "table-wrap", "table-columns-limit")),
        "comm": Reader("123iz", long=("check-order", "nocheck-order", "zero-terminated", "total"),
                       long_attached=("output-delimiter",), max_operands=2, may_glob=True),
        "cut": Reader("nszw", "bcdf", long=("complement", "only-delimited", "zero-terminated"), may_glob=True,
                      long_valued=("bytes", "characters", "delimiter", "fields", "output-delimiter")),
        "date": Reader("uR", "dr", attached="I", long=("utc", "universal", "rfc-email", "rfc-2822"),
                       long_valued=("date", "reference"), long_attached=("iso-8601", "rfc-3339"),
                       paths=("r", "-reference"), first_path=-1, check=_only_formats),
        "df": Reader("ahHiklmPTv", "tB", long=("all", "human-readable", "si", "inodes", "local", "no-sync",
                                               "portability", "print-type", "total"), listable=_LISTABLE,
                     long_valued=("type", "exclude-type", "block-size"), long_attached=("output",), may_glob=True),
        "diff": Reader(
            "abBcdeEfHiNnpqrstTuwyZ", "CULxXIFW", has_numbers=True, may_glob=True, follows=(("r", "-recursive"),),
            paths=("X", "-exclude-from",
            "-from-file", "-to-file"),
            long=("normal", "brief", "report-identical-files", "ed", "rcs", "side-by-side", "left-column",
                  "suppress-common-lines", "show-c-function", "initial-tab", "suppress-blank-empty", "recursive",
                  "no-dereference", "new-file", "unidirectional-new-file", "ignore-file-name-case", "ignore-case",
                  "ignore-tab-expansion", "ignore-trailing-space", "ignore-space-change", "ignore-all-space",
                  "ignore-blank-lines", "text", "strip-trailing-cr", "minimal", "speed-large-files", "expand-tabs"),
            long_valued=("label", "show-function-line", "tabsize", "exclude", "exclude-from", "from-file", "to-file",
                         "ignore-matching-lines", "width", "horizon-lines", "line-format", "color", "palette"),
            long_attached=("context", "unified", "color", "palette"),
        ),
        "dirname": Reader("z", long=("zero",), first_path=-1, may_glob=True),
        "du": Reader("0abcDhHklLmPsSxr", "dtB", long=(
            "all", "apparent-size", "bytes", "total", "dereference-args", "human-readable", "si", "dereference",
            "count-links", "no-dereference", "separate-dirs", "summarize", "one-file-system", "null", "inodes"),
            long_valued=("max-depth", "threshold", "block-size", "exclude", "time-style"), long_attached=("time",),
            may_glob=True, follows=(("L", "-dereference"),), counts=True),
        "egrep": GREP,
        "expand": Reader("i", "t", long=("initial",), long_valued=("tabs",), may_glob=True),
        "fd": _FD,
        "fdfind": _FD,
        "fgrep": GREP,
        "file": Reader("bikILhnrN0E", "F", long=(
            "brief", "mime", "mime-type", "mime-encoding", "keep-going", "dereference", "no-dereference", "no-buffer",
            "raw", "print0", "no-pad", "extension"), long_valued=("separator",)),
        "fold": Reader("bs", "w", long=("bytes", "spaces"), long_valued=("width",), may_glob=True),
        "free": Reader("bkmghtlw", long=("human", "mega", "giga", "total", "wide"), max_operands=0),
        "getconf": Reader("a", first_path=-1, max_operands=1),
        "grep": GREP,
        "groups": Reader(first_path=-1),
        "head": Reader("qvz", "nc", long=("quiet", "silent", "verbose", "zero-terminated"),
                       long_valued=("lines", "bytes"), has_numbers=True, may_glob=True),
        "hexdump": Reader("bcCdovx", "ns", may_glob=True),
        "hostname": Reader("sfidIAy", long=("short", "fqdn", "ip-address", "all-ip-addresses"), max_operands=0),
        "id": Reader("ugGnrzaAp", long=("user", "group", "groups", "name", "real", "zero"), first_path=-1,
                     max_operands=1),
        "less": _PAGER,
        "locale": Reader("akm", first_path=-1, max_operands=1),
        "look": Reader("df", first_path=1, max_operands=2),
        "ls": Reader(
            "aAbBcCdfFgGhHiklLmnNopqQrRsStuUvxXZ1", "IwT", may_glob=True, listable=_LISTABLE, check=_not_everything,
            follows=(("R", "-recursive"), ("L", "-dereference")),
            long=("all", "almost-all", "author", "escape", "ignore-backups", "directory", "file-type", "full-time",
                  "group-directories-first", "no-group", "human-readable", "si", "dereference",
                  "dereference-command-line", "inode", "kibibytes", "numeric-uid-gid", "literal",
                  "hide-control-chars", "show-control-chars", "quote-name", "reverse", "recursive", "size", "context",
                  "zero"),
            long_valued=("block-size", "hide", "ignore", "indicator-style", "format", "quoting-style", "sort", "time",
                         "time-style", "tabsize", "width"),
            long_attached=("color", "hyperlink", "classify"),
        ),
        "lsb_release": Reader("asdircu", long=("all", "short", "description", "release", "codename", "id"),
                              max_operands=0),
        "lscpu": Reader("aJbce", long=("all", "json"), max_operands=0),
        "lsof": Reader("Pntl", "p", "i", first_path=-1, check=_ports_only),
        "md5sum": _SUM,
        "more": replace(_PAGER, flags="dflpcsu"),
        "netstat": Reader("tulnpaers", max_operands=0),
        "nl": Reader("p", "bdfhilnsvw", long=("no-renumber",), may_glob=True, long_valued=(
            "body-numbering", "section-delimiter", "footer-numbering", "header-numbering", "line-increment",
            "join-blank-lines", "number-format", "number-separator", "starting-line-number", "number-width")),
        "nproc": Reader(long=("all",), max_operands=0),
        "od": Reader("abcdfilosxv", "ANjt", "w", may_glob=True, long_valued=(
            "address-radix", "skip-bytes", "read-bytes", "format", "endian"), long_attached=("width",)),
        "paste": Reader("sz", "d", long=("serial", "zero-terminated"), long_valued=("delimiters",), may_glob=True,
                        check=_no_control_values),
        "pgrep": Reader("flaxniovc", "uPgt", long=("full", "list-name", "list-full", "count", "newest", "oldest"),
                        first_path=-1, max_operands=1),
        "pwd": Reader("LP", max_operands=0),
        "readlink": Reader("femnqsvz", long=(
            "canonicalize", "canonicalize-existing", "canonicalize-missing", "no-newline", "quiet", "silent",
            "verbose", "zero"), may_glob=True, counts=True),
        "realpath": Reader("emLPqsz", long=(
            "canonicalize-existing", "canonicalize-missing", "logical", "physical", "quiet", "strip", "no-symlinks",
            "zero"), long_valued=("relative-to", "relative-base"), may_glob=True),
        "rev": Reader(may_glob=True),
        "rg": Reader("abcFHIiLlNnoPpqSsUuVvwx0.", "ABCegmMEjrtTd", long=_RG_LONG, long_valued=_RG_VALUED,
                     names=("g", "-glob", "-iglob"), first_path=1, check=_searches,
                     follows=(("L", "-follow"),), pattern_options=("e", "-regexp", "-files")),
        "seq": Reader("w", "fst", first_path=-1, has_numbers=True),
        "sha1sum": _SUM,
        "sha256sum": _SUM,
        "sha512sum": _SUM,
        "shasum": Reader("btU0", "a", long_valued=("algorithm",), may_glob=True),
        "shuf": Reader("erz", "ni", long=("echo", "repeat", "zero-terminated"),
                       long_valued=("head-count", "input-range")),
        "sort": Reader("bdfghiMnRrsuVzcCm", "ktS", long=(
            "ignore-leading-blanks", "dictionary-order", "ignore-case", "general-numeric-sort", "ignore-nonprinting",
            "month-sort", "human-numeric-sort", "numeric-sort", "random-sort", "reverse", "version-sort", "stable",
            "unique", "zero-terminated", "merge", "debug"),
            long_valued=("key", "field-separator", "parallel", "buffer-size"), long_attached=("sort", "check")),
        "ss": Reader("tulnpaexmiosSH46rw", long=("tcp", "udp", "listening", "numeric", "processes", "all", "summary"),
                     max_operands=0),
        "stat": Reader("LtfFlnqrsxZ", "c", long=("dereference", "file-system", "terse"),
                       long_valued=("format",), long_attached=("printf", "cached"), may_glob=True,
                       check=_no_control_values),
        "strings": Reader("afow", "nte", has_numbers=True, check=_plain_files, long=("all", "print-file-name"),
                          long_valued=("bytes", "radix", "encoding")),
        "sw_vers": Reader(max_operands=0),
        "tac": Reader("br", "s", long=("before", "regex"), long_valued=("separator",), may_glob=True),
        "tail": Reader("qvzr", "nc", long=("quiet", "silent", "verbose", "zero-terminated"),
                       long_valued=("lines", "bytes"), has_numbers=True, may_glob=True),
        "tr": Reader("cCdst", long=("complement", "delete", "squeeze-repeats", "truncate-set1"), first_path=-1,
                     may_glob=True, check=_no_control_set),
        "tree": Reader("adflxpsughDFqNQinvtcrCASXJU", "LPI", apart="PI", long=(
            "dirsfirst", "filesfirst", "noreport", "prune", "matchdirs", "ignore-case", "du", "si", "gitignore",
            "inodes", "device", "metafirst", "nolinks"), long_attached=("sort", "charset", "timefmt", "filelimit"),
            check=_attached_levels, follows=(("l",),)),
        "tty": Reader("s", max_operands=0),
        "uname": Reader("asnrmpiov", long=(
            "all", "kernel-name", "nodename", "kernel-release", "kernel-version", "machine", "processor",
            "hardware-platform", "operating-system"), max_operands=0),
        "unexpand": Reader("a", "t", long=("all", "first-only"), long_valued=("tabs",), may_glob=True),
        "uniq": Reader("cdDiuz", "fsw", max_operands=1, check=_no_patterns, long=(
            "count", "repeated", "ignore-case", "unique", "zero-terminated"),
            long_valued=("skip-fields", "skip-chars", "check-chars"), long_attached=("all-repeated", "group")),
        "uptime": Reader("ps", long=("pretty", "since"), max_operands=0),
        "wc": Reader("clmLw", long=("bytes", "chars", "lines", "max-line-length", "words"), long_attached=("total",),
                     may_glob=True, counts=True),
        "whereis": Reader("bms", first_path=-1),
        "which": Reader("as", long=("all",), first_path=-1),
        "whoami": Reader(max_operands=0),
        # A second operand is written.
        "xxd": Reader(whole=True, max_operands=1, check=_no_patterns, long=(
            "a", "b", "C", "E", "e", "i", "p", "ps", "plain", "u", "autoskip", "bits", "include", "postscript"),
            long_valued=("c", "cols", "g", "groupsize", "l", "len", "s", "seek", "n", "name")),
    }
)  # fmt: skip

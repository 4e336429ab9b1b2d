"""The settings of linters."""

from dataclasses import dataclass

from codeplane.core.settings import setting


@dataclass(frozen=True, slots=True)
class CustomLinter:
    """A command of the team's own that prints `path:line:column: message`."""

    name: str = setting(doc="What it is called in answers.")
    command: tuple[str, ...] = setting(doc="The program and its arguments; `{paths}` is replaced by the files.")
    files: tuple[str, ...] = setting(("*",), doc="Globs of the names of its files.")

    def __post_init__(self) -> None:
        """Refuse a command without a program."""
        if not self.command or not self.command[0]:
            raise ValueError(f"the command of {self.name} is empty")


@dataclass(frozen=True, slots=True)
class LintSettings:
    """Linters, type checkers and formatters."""

    custom: tuple[CustomLinter, ...] = setting((), doc="Commands of the team's own.")
    exclude: tuple[str, ...] = setting((), doc="Names of tools that are not run.")
    timeout_sec: int = setting(120, doc="How long one run of a tool may take.", minimum=1, maximum=3600)

"""All operations, in alphabetical order. Adding one takes one file and one line here, under its audience."""

from collections.abc import Iterator, Mapping
from importlib import import_module

from codeplane.core.errors import CodePlaneError
from codeplane.operations.operation import AnyOperation

# For agents: the tools.
_TOOLS = (
    "call",
    "context_pack",
    "delegate_intent",
    "describe",
    "discover_test_targets",
    "export_experiences",
    "get_experience",
    "git_branch",
    "git_checkout",
    "git_commit",
    "git_diff",
    "git_history",
    "git_inspect",
    "git_log",
    "git_merge",
    "git_pull",
    "git_push",
    "git_rebase",
    "git_remote",
    "git_reset",
    "git_stage",
    "git_stage_and_commit",
    "git_stash",
    "git_status",
    "git_submodule",
    "git_worktree",
    "import_experiences",
    "inspect_affected_tests",
    "lint_check",
    "lint_tools",
    "list_files",
    "map_repo",
    "read_file_full",
    "read_source",
    "record_experience",
    "refactor_apply",
    "refactor_cancel",
    "refactor_impact",
    "refactor_inspect",
    "refactor_move",
    "refactor_rename",
    "request_scope_expansion",
    "reset_budget",
    "run",
    "run_consolidation",
    "run_test_targets",
    "search",
    "search_experiences",
    "select_active_intent",
    "semantic_diff",
    "tag_experience",
    "undo",
    "update_experience",
    "write_source",
)


# For people: commands and REST addresses, each family in one module.
_COMMANDS = {
    "accept_hooks": "manage_policy",
    "accept_policy": "manage_policy",
    "add_intent": "manage_intents",
    "anchor_ledger": "read_ledger",
    "approve_calls": "answer_approvals",
    "check_intents": "manage_intents",
    "check_policy": "manage_policy",
    "close_intent": "manage_intents",
    "close_task": "manage_tasks",
    "deny_calls": "answer_approvals",
    "explain_call": "explain_call",
    "export_memory": "manage_memory",
    "forget_memory": "manage_memory",
    "import_intents": "manage_intents",
    "import_memory": "manage_memory",
    "list_approvals": "answer_approvals",
    "list_calls": "read_ledger",
    "list_grants": "answer_approvals",
    "list_intents": "manage_intents",
    "list_memories": "review_memory",
    "list_rows": "read_ledger",
    "list_tasks": "manage_tasks",
    "memory_status": "manage_memory",
    "merge_memory": "manage_memory",
    "open_task": "manage_tasks",
    "promote_experience": "manage_memory",
    "repair_memory": "manage_memory",
    "reset_task_budget": "manage_tasks",
    "review_memory": "review_memory",
    "revoke_approval": "answer_approvals",
    "set_policy_mode": "manage_policy",
    "show_approval": "answer_approvals",
    "show_friction": "review_memory",
    "show_intent": "manage_intents",
    "show_policy": "manage_policy",
    "show_rows": "read_ledger",
    "show_task": "manage_tasks",
    "verify_ledger": "read_ledger",
    "verify_memory": "manage_memory",
    "widen_intent": "manage_intents",
}

# Tools that share a module, and `run`, whose module is named after what it runs.
_MODULES = {
    "run": "run_program",
    **dict.fromkeys(
        (
            "export_experiences",
            "get_experience",
            "import_experiences",
            "record_experience",
            "search_experiences",
            "tag_experience",
            "update_experience",
        ),
        "memory_knowledge",
    ),
    **_COMMANDS,
}


def module_of(name: str) -> str:
    """Return the module that holds an operation."""
    return f"codeplane.operations.{_MODULES.get(name, name)}"


class Catalog(Mapping[str, AnyOperation]):
    """Operations by name, each imported when it is first asked for: `git_log` is `GIT_LOG` of the module `git_log`.

    To import all of them takes 200 ms, which a client that lists its tools need not wait for: that is on their cards.
    Names can be listed, counted and looked for without importing anything.
    """

    def __init__(self, names: tuple[str, ...]) -> None:
        self._names = dict.fromkeys(names)

    def __getitem__(self, name: str) -> AnyOperation:
        """Return the operation of that name.

        Raises:
            KeyError: there is none.
            CodePlaneError: INTERNAL_ERROR when it cannot be imported, so the call is answered and recorded.
        """
        if name not in self._names:
            raise KeyError(name)
        try:
            module = import_module(module_of(name))
        except ImportError as error:
            raise CodePlaneError("INTERNAL_ERROR", f"{name} cannot be loaded: {error}.") from error
        operation: AnyOperation = getattr(module, name.upper())
        return operation

    def __contains__(self, name: object) -> bool:
        """Tell whether there is an operation of that name."""
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        """Yield the names in order."""
        return iter(self._names)

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self._names)


# What agents can call: the door of MCP, of `call` and of programs knows nothing else.
TOOLS = Catalog(_TOOLS)
OPERATIONS = Catalog((*_TOOLS, *_COMMANDS))
# Operations that people reach by a command or a REST address.
COMMANDS = (*_COMMANDS, "select_active_intent")
# Operations with REST addresses of their own; every tool also has `/operations/{name}`.
ROUTED = (*COMMANDS, "refactor_apply", "refactor_impact", "refactor_move", "refactor_rename")

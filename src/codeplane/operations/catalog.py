"""All operations, in alphabetical order. Adding one takes one file and one line here, under its audience."""

from collections.abc import Callable, Iterator, Mapping
from importlib import import_module

from codeplane.core.errors import CodePlaneError
from codeplane.operations.operation import AnyOperation

# For agents: the tools.
_TOOLS = (
    "analyze_problem",
    "apply_preset",
    "authorize_operation",
    "call",
    "check",
    "check_compliance",
    "compliance_router",
    "compliance_snapshot",
    "context_pack",
    "controller_turn",
    "delegate_intent",
    "describe",
    "discover_test_targets",
    "export_config",
    "export_experiences",
    "finalize_decision",
    "finalize_response",
    "gather_context",
    "get_config",
    "get_experience",
    "get_project_context",
    "get_session_state",
    "get_workflow_status",
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
    "governance_validate",
    "guarded_cycle",
    "health_check",
    "import_data",
    "import_experiences",
    "inspect_affected_tests",
    "install_hooks",
    "lint_check",
    "lint_tools",
    "list_files",
    "list_presets",
    "list_test_runs",
    "map_repo",
    "read_file_full",
    "read_source",
    "reason_through",
    "record_experience",
    "record_invocation",
    "refactor_apply",
    "refactor_cancel",
    "refactor_impact",
    "refactor_inspect",
    "refactor_move",
    "refactor_rename",
    "request_scope_expansion",
    "reset_budget",
    "reset_workflow",
    "run",
    "run_check_command",
    "run_consolidation",
    "run_test_targets",
    "search",
    "search_experiences",
    "select_active_intent",
    "semantic_diff",
    "tag_experience",
    "trace_blame",
    "undo",
    "uninstall_hooks",
    "update_experience",
    "update_project_context",
    "validate_config",
    "verify_compliance",
    "write_source",
)


# For people: commands and REST addresses, each family in one module. The controller is a package above this one; like
# everything here it is imported by name when it is first called.
_COMMANDS = {
    "accept_hooks": "manage_policy",
    "accept_policy": "manage_policy",
    "accept_upstream": "manage_gateway",
    "add_intent": "manage_intents",
    "add_lesson": "manage_lessons",
    "agent_context": "agent_context",
    "anchor_ledger": "read_ledger",
    "approve_calls": "answer_approvals",
    "check_intents": "manage_intents",
    "check_plan": "codeplane.controller.people",
    "bench_memory": "manage_memory",
    "check_policy": "manage_policy",
    "close_intent": "manage_intents",
    "close_task": "manage_tasks",
    "connect_agent": "manage_agents",
    "controller_analytics": "codeplane.controller.people",
    "count_calls": "count_calls",
    "deny_calls": "answer_approvals",
    "doctor_memory": "manage_memory",
    "explain_call": "explain_call",
    "export_memory": "manage_memory",
    "export_trace": "manage_trace",
    "forget_memory": "manage_memory",
    "graph_export": "manage_graph",
    "graph_status": "manage_graph",
    "graph_sync": "manage_graph",
    "import_intents": "manage_intents",
    "import_memory": "manage_memory",
    "import_trace": "manage_trace",
    "import_upstreams": "import_upstreams",
    "init_memory": "manage_memory",
    "list_agents": "manage_agents",
    "list_approvals": "answer_approvals",
    "list_calls": "read_ledger",
    "list_grants": "answer_approvals",
    "list_intents": "manage_intents",
    "list_lessons": "manage_lessons",
    "list_memories": "review_memory",
    "list_pending_policies": "codeplane.controller.people",
    "list_rows": "read_ledger",
    "list_run_worktrees": "codeplane.controller.people",
    "list_runs": "codeplane.controller.people",
    "list_tasks": "manage_tasks",
    "list_turn_errors": "codeplane.controller.people",
    "list_upstreams": "manage_gateway",
    "memory_status": "manage_memory",
    "merge_memory": "manage_memory",
    "open_task": "manage_tasks",
    "promote_experience": "manage_memory",
    "refuse_upstream": "manage_gateway",
    "repair_memory": "manage_memory",
    "reset_task_budget": "manage_tasks",
    "review_memory": "review_memory",
    "review_plan": "codeplane.controller.people",
    "revoke_approval": "answer_approvals",
    "set_policy_mode": "manage_policy",
    "set_tree_intent": "manage_policy",
    "show_activity": "show_activity",
    "show_approval": "answer_approvals",
    "show_change": "show_change",
    "show_connection": "manage_agents",
    "show_friction": "review_memory",
    "show_intent": "manage_intents",
    "show_policy": "manage_policy",
    "show_rows": "read_ledger",
    "show_run": "codeplane.controller.people",
    "show_task": "manage_tasks",
    "show_upstream": "manage_gateway",
    "show_upstream_import": "import_upstreams",
    "trace_stats": "manage_trace",
    "verify_ledger": "read_ledger",
    "verify_memory": "manage_memory",
    "verify_range": "manage_trace",
    "verify_trace": "manage_trace",
    "widen_intent": "manage_intents",
    "write_lessons": "manage_lessons",
}

# Families of tools that share a module.
_FAMILIES = {
    "memory_automation": (
        "get_project_context",
        "get_session_state",
        "health_check",
        "import_data",
        "install_hooks",
        "uninstall_hooks",
        "update_project_context",
    ),
    "memory_cycle": (
        "compliance_router",
        "compliance_snapshot",
        "finalize_response",
        "governance_validate",
        "guarded_cycle",
        "record_invocation",
    ),
    "memory_knowledge": (
        "export_experiences",
        "get_experience",
        "import_experiences",
        "record_experience",
        "search_experiences",
        "tag_experience",
        "update_experience",
    ),
    "memory_presets": (
        "apply_preset",
        "export_config",
        "get_config",
        "list_presets",
        "validate_config",
    ),
    "memory_reasoning": (
        "analyze_problem",
        "finalize_decision",
        "gather_context",
        "reason_through",
    ),
    "memory_workflow": (
        "authorize_operation",
        "check_compliance",
        "get_workflow_status",
        "reset_workflow",
        "verify_compliance",
    ),
}
# The module of `run` is named after what it runs.
_MODULES = {
    "controller_turn": "codeplane.controller.turn",
    "run": "run_program",
    **{name: module for module, names in _FAMILIES.items() for name in names},
    **_COMMANDS,
}


def module_of(name: str) -> str:
    """Return the module that holds an operation."""
    module = _MODULES.get(name, name)
    return module if "." in module else f"codeplane.operations.{module}"


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


class OfferedTools(Mapping[str, AnyOperation]):
    """The tools of the catalog and, after them, those that `foreign` returns: the tools of upstreams as they are now.

    `why_missing` tells of a name that is neither what is wrong with its upstream; None when it is of none.
    Invariant: a name of the catalog is never a foreign tool.
    """

    def __init__(
        self,
        own: Catalog,
        foreign: Callable[[], Mapping[str, AnyOperation]],
        why_missing: Callable[[str], CodePlaneError | None],
    ) -> None:
        self.own = own
        self.foreign = foreign
        self.why_missing = why_missing

    def __getitem__(self, name: str) -> AnyOperation:
        """Return the operation of that name.

        Raises:
            KeyError: there is none.
        """
        return self.own[name] if name in self.own else self.foreign()[name]

    def __contains__(self, name: object) -> bool:
        """Tell whether there is an operation of that name."""
        return name in self.own or name in self.foreign()

    def __iter__(self) -> Iterator[str]:
        """Yield the names, those of the catalog first."""
        yield from self.own
        yield from self.foreign()

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self.own) + len(self.foreign())


# What agents can call: the door of MCP, of `call` and of programs knows nothing else.
TOOLS = Catalog(_TOOLS)
OPERATIONS = Catalog((*_TOOLS, *_COMMANDS))
# Operations that people reach by a command or a REST address.
COMMANDS = (
    *_COMMANDS,
    "apply_preset",
    "context_pack",
    "health_check",
    "list_test_runs",
    "record_experience",
    "run_consolidation",
    "search_experiences",
    "select_active_intent",
    "trace_blame",
    "validate_config",
)
# Operations with REST addresses of their own; every tool also has `/operations/{name}`.
ROUTED = (*COMMANDS, "controller_turn", "refactor_apply", "refactor_impact", "refactor_move", "refactor_rename")

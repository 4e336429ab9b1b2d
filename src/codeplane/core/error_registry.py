"""Every error code CodePlane knows: one table, one number each.

The reference page is generated from it. Numbers never change their meaning; a number of a code that is no longer raised is not used again.
"""

from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class ErrorEntry:
    """One row: what the code means and what to do about it.

    `retryable`: the same call may succeed later with no change.
    `recoverable`: the caller can go on by itself after doing `required_action`.
    """

    number: int
    name: str
    retryable: bool
    recoverable: bool
    message: str
    required_action: str
    family: str


# Who can help: the caller by doing what is said, the caller by sending the same call again, or only a person.
FIX = (False, True)
RETRY = (True, True)
PERSON = (False, False)

# fmt: off
_ROWS: dict[str, tuple[tuple[int, str, tuple[bool, bool], str, str], ...]] = {
    "Requests and configuration": (
        (1001, "INVALID_ARGUMENTS", FIX, "The arguments do not fit the operation.", "Compare with the example call and send it again."),
        (1002, "UNKNOWN_OPERATION", FIX, "There is no operation of that name.", "Use one of the suggested names, or `describe` for the list."),
        (1003, "UNKNOWN_PROFILE", FIX, "There is no tool profile of that name.", "Use core, classic, memory, full, or an explicit list of operation names."),
        (1004, "PAYLOAD_TOO_LARGE", FIX, "The request is larger than the limit.", "Send less in one call."),
        (1005, "VALIDATION_ERROR", FIX, "A value does not pass validation.", "Correct the value that the message names."),
        (1006, "MISSING_REQUIRED", FIX, "A required argument is missing.", "Send the argument that the message names."),
        (1007, "INVALID_TYPE", FIX, "A value is not one of the types that are allowed.", "Use one of the values that the message names."),
        (1008, "INVALID_FORMAT", FIX, "A value has the wrong form.", "Send the form that the message shows."),
        (1009, "OUT_OF_RANGE", FIX, "A number is outside its limits.", "Use a number inside the limits."),
        (1010, "CONFIG_INVALID", FIX, "The configuration cannot be used.", "Correct the line that the message names; nothing was started."),
        (1012, "INTERNAL_ERROR", PERSON, "CodePlane failed unexpectedly.", "See the log (`cpl status --verbose`) and report it; nothing was lost that the ledger does not show."),
        (1013, "CANCELLED", RETRY, "The caller cancelled the call.", "Call again when the answer is wanted."),
        (1014, "TIMED_OUT", RETRY, "The work took longer than its time limit.", "Ask for less, or raise the limit that the message names."),
        (1016, "CURSOR_EXPIRED", FIX, "The cursor belongs to an answer that is no longer kept.", "Call again without a cursor."),
        (1017, "CURSOR_INVALID", FIX, "The cursor was not made by this operation.", "Call again without a cursor."),
        (1018, "PROGRAM_FAILED", FIX, "The program ended with an error.", "Correct the line that the message names and send the program again."),
    ),
    "Repository and files": (
        (2001, "NOT_A_REPOSITORY", FIX, "The directory is not inside a Git working tree.", "Run it inside a repository, or `git init` first."),
        (2002, "BARE_REPOSITORY", FIX, "The repository is bare: it has no working tree.", "Run it in a working tree (`git worktree add` makes one)."),
        (2003, "GIT_UNAVAILABLE", FIX, "The git program cannot be run.", "Install git 2.30 or newer and make sure it is on PATH."),
        (2004, "GIT_CORRUPT", PERSON, "Git cannot read its own data here.", "Run `git fsck` and repair the repository; CodePlane does not repair it."),
        (2005, "GIT_FAILED", FIX, "A git command failed.", "Read git's message in the details."),
        (2010, "PATH_INVALID", FIX, "The path is not a repository path.", "Give a path relative to the repository root with forward slashes."),
        (2011, "PATH_OUTSIDE_REPOSITORY", FIX, "The path leads out of the repository.", "Give a path inside the repository."),
        (2012, "FILE_NOT_FOUND", FIX, "There is no such file.", "Check the path; `list_files` shows what exists."),
        (2013, "NOT_A_FILE", FIX, "The path is not a regular file.", "Give a file; `list_files` lists a directory."),
        (2014, "NOT_A_DIRECTORY", FIX, "The path is not a directory.", "Give a directory; `read_source` reads a file."),
        (2015, "FILE_READ_FAILED", RETRY, "The file could not be read.", "See the operating system's reason in the message."),
        (2016, "FILE_WRITE_FAILED", RETRY, "The file could not be written.", "See the operating system's reason in the message."),
        (2017, "PERMISSION_DENIED", FIX, "The operating system does not allow it.", "Change the permissions, or work elsewhere."),
        (2018, "FILE_BINARY", FIX, "The file is not text.", "Binary files are not delivered as source."),
        (2019, "FILE_TOO_LARGE", FIX, "The file is too large to deliver whole.", "Read line ranges with `read_source`."),
        (2020, "FILE_IGNORED", FIX, "A rule keeps this file out of CodePlane.", "A person can change the rule named in the details."),
        (2021, "SECRET_FILE", FIX, "The file may hold secrets and is not delivered.", "A person can let it in with a `!` line in .cplignore."),
        (2022, "PROTECTED_PATH", PERSON, "The path belongs to CodePlane, Git or an agent's configuration.", "Leave it alone; a person changes it with `cpl` or an editor."),
        (2023, "FILE_CHANGED", FIX, "The file changed since the first page was read.", "Read it again from the start."),
        (2024, "DISK_FULL", RETRY, "The disk is full; nothing was written.", "Free some space and call again."),
    ),
    "Git": (
        (2101, "GIT_REF_UNKNOWN", FIX, "No branch, tag or commit has that name.", "Check the name; git_branch and git_inspect (`cpl git branch`, `cpl git log`) list what there is."),
        (2102, "GIT_REF_AMBIGUOUS", FIX, "The name fits more than one commit.", "Give more digits, or the full name such as refs/heads/main."),
        (2103, "GIT_REF_INVALID", FIX, "Git does not allow such a name.", "Use letters, digits, `-`, `_`, `.` and `/`; it may not begin with `-`."),
        (2104, "GIT_REF_EXISTS", FIX, "A branch, tag, remote or worktree of that name exists already.", "Choose another name, or use `force` where the tool has it."),
        (2105, "GIT_LOCKED", RETRY, "Another git process holds a lock of the repository.", "Call again in a moment; if no git runs, a person removes the lock file."),
        (2106, "GIT_IDENTITY_MISSING", FIX, "Git does not know who commits.", "Give `author`, or ask a person to set user.name and user.email."),
        (2107, "GIT_OPERATION_IN_PROGRESS", FIX, "A merge, rebase, cherry-pick, revert or bisect is not finished.", "Continue or abort it first; git_status says which."),
        (2108, "GIT_NO_OPERATION", FIX, "There is nothing to continue, skip or abort.", "See git_status for the state of the repository."),
        (2109, "GIT_CONFLICTS", FIX, "Files are in conflict.", "Edit them with write_source, stage them with git_stage, then continue."),
        (2110, "GIT_WOULD_OVERWRITE", FIX, "Local changes are in the way.", "Commit or stash them, or use `force` where the tool has it."),
        (2111, "GIT_NOTHING_TO_COMMIT", FIX, "There is nothing to commit.", "Stage something, or set `allow_empty`."),
        (2112, "GIT_HOOK_FAILED", FIX, "A hook of the repository refused.", "Fix what the hook reports and call again."),
        (2113, "GIT_REMOTE_UNKNOWN", FIX, "There is no remote of that name, or none at all.", "List the remotes with git_remote, or add one."),
        (2114, "GIT_REMOTE_UNREACHABLE", RETRY, "The remote does not answer.", "Check its address with git_remote and call again later."),
        (2115, "GIT_AUTHENTICATION_FAILED", PERSON, "The remote does not accept the credentials.", "Ask a person to set up an ssh agent or a credential helper."),
        (2116, "GIT_PUSH_REJECTED", FIX, "The remote refused the push.", "Pull first, then push again; `force` overwrites the remote branch."),
        (2117, "GIT_PATH_UNKNOWN", FIX, "Git does not know that path there.", "Check the path with git_status or list_files."),
        (2118, "GIT_NOT_MERGED", FIX, "The branch holds commits that no other branch has.", "Merge it, or use `force`; undo brings it back."),
        (2119, "GIT_DETACHED_HEAD", FIX, "HEAD is not on a branch.", "Create one with git_checkout and `create`, or name the branch."),
        (2120, "GIT_NO_COMMITS", FIX, "There is no commit yet.", "Commit something first."),
        (2121, "GIT_WORKTREE_UNUSABLE", FIX, "That worktree cannot be used for this.", "List the worktrees with git_worktree."),
        (2122, "GIT_SUBMODULE_UNUSABLE", FIX, "That submodule cannot be used for this.", "See git_submodule with action status."),
        (2123, "GIT_SIGNING_FAILED", PERSON, "The commit could not be signed.", "Ask a person to fix the signing setup, or to turn commit.gpgsign off."),
        (2124, "GIT_UNRELATED", FIX, "The histories have no commit in common.", "Check the ref; unrelated histories are not joined."),
    ),
    "Server, sessions and stores": (
        (3001, "SERVER_UNREACHABLE", RETRY, "The server does not answer.", "Start it with `cpl up`."),
        (3002, "SERVER_ALREADY_RUNNING", FIX, "A server already runs for this working tree.", "Use the address in the details."),
        (3003, "PORT_UNAVAILABLE", FIX, "The configured port is in use.", "Stop the other program, or set server.port to 0 for a free one."),
        (3004, "SERVER_LOST", RETRY, "The server ended while it worked on this call.", "Call again; for a change, look at `cpl status` first to see whether it happened."),
        (3005, "SERVER_SHUTTING_DOWN", RETRY, "The server is stopping and takes no new calls.", "Call again when a server runs."),
        (3006, "HOST_NOT_ALLOWED", PERSON, "The Host header is not a loopback name.", "Use http://127.0.0.1:<port>."),
        (3007, "ORIGIN_NOT_ALLOWED", PERSON, "The Origin header is not this server.", "Pages of other sites may not call CodePlane."),
        (3008, "OPERATOR_TOKEN_REQUIRED", FIX, "Only a person can do this.", "In a terminal type the code that is asked for; over REST send `Authorization: Bearer <token>` with the operator token."),
        (3009, "SESSION_NOT_FOUND", FIX, "There is no such session.", "Leave session_id out; a session is made on the first call."),
        (3010, "SESSION_EXPIRED", FIX, "The session was idle too long and is closed.", "Leave session_id out; a new session is made."),
        (3011, "READ_BUDGET_EXCEEDED", FIX, "This session has read as much as its budget allows.", "Call `reset_budget`, then go on."),
        (3012, "STORE_BUSY", RETRY, "Another process holds the store too long.", "Call again in a moment."),
        (3013, "DATABASE_UNAVAILABLE", FIX, "A database file cannot be opened.", "Check permissions and disk space of .codeplane/."),
        (3014, "MIGRATION_FAILED", PERSON, "A database could not be migrated to the current schema.", "Keep the file and report it; a newer CodePlane may have written it."),
        (3015, "QUERY_FAILED", PERSON, "A database query failed.", "Report it with the log."),
        (3016, "STORE_CORRUPT", PERSON, "A database file is damaged.", "Move the file that is named aside; the next call makes a new one."),
        (3017, "NOT_FOUND", FIX, "There is no such address on this server.", "See /openapi.json for what exists."),
        (3018, "METHOD_NOT_ALLOWED", FIX, "The address exists but not for this HTTP method.", "Use the method that the message names."),
        (3019, "ACCESS_SECRET_REQUIRED", FIX, "The caller is not the user who owns the server, and sent no valid access secret.", "Use the URL in `.codeplane/url`, or send `Authorization: Bearer <secret>`."),
        (3031, "GRAPH_UNAVAILABLE", RETRY, "The graph's server does not answer.", "Start the server that graph.neo4j.url names, then call again; the graph is unchanged."),
        (3032, "SEEDS_INVALID", FIX, "The seeds of the graph have errors.", "Correct the lines that the message names; the graph is unchanged."),
        (3020, "INDEX_BUILDING", RETRY, "The first index of this repository is being built.", "Wait; `cpl status` shows how far it is. Calls wait for it by themselves."),
    ),
    "Index and refactoring": (
        (4001, "INDEX_CORRUPT", FIX, "The index is damaged.", "Nothing to do: it is rebuilt from the files."),
        (4002, "REFACTOR_DIVERGENCE", FIX, "Contexts disagree on what the symbol is.", "Name one of the contexts in the details with `context_id`."),
        (4003, "EPOCH_NOT_KEPT", FIX, "The index no longer knows the files of that epoch.", "Use one of the epochs that the message names, or a git ref."),
        (4010, "REFACTOR_NOT_FOUND", FIX, "There is no planned refactoring of that id.", "Plan it again; the id is in the answer of refactor_rename, refactor_move or refactor_impact."),
        (4011, "REFACTOR_EXPIRED", FIX, "The planned refactoring is too old.", "Plan it again."),
        (4012, "REFACTOR_CONFLICT", FIX, "The refactoring would change what other code means, or the files do not fit it.", "Look at the places that the message names; choose another name or edit them first."),
        (4013, "REFACTOR_DISABLED", PERSON, "Refactoring is switched off here.", "A person can set `refactor.enabled`."),
    ),
    "Edits": (
        (5001, "CONTENT_NOT_FOUND", FIX, "The expected text was not found in the file.", "Use the current text of one of the candidates."),
        (5002, "CONTENT_AMBIGUOUS", FIX, "The expected text occurs more than once in the file.", "Give the lines of the one that is meant, or more of the text around it."),
        (5003, "EDITS_OVERLAP", FIX, "Two edits of one call change the same text.", "Combine them into one edit."),
        (5004, "FILE_EXISTS", FIX, "A file of that name already exists.", "Use update with its hash, or choose another name."),
        (5005, "HARD_LINKED", FIX, "The file has several names, and only one would be changed.", "Send `break_hardlink: true` if that is meant."),
        (5006, "EXPECTATION_MISSING", FIX, "An update does not say what it expects to find.", "Send expected_content or expected_file_sha256."),
        (5007, "UNDO_CONFLICT", FIX, "The change to undo was changed again since.", "Look at the conflicts, or undo the later operation first."),
        (5008, "NOTHING_TO_UNDO", FIX, "There is nothing to undo, or it is no longer kept.", "`cpl undo --list`, or undo without arguments, lists what can be undone."),
    ),
    "Tasks and ledger": (
        (6001, "TASK_BUDGET_EXCEEDED", FIX, "The task's budget is used up.", "Close the task and open a new one, or ask a person for more."),
        (6002, "CHAIN_BROKEN", PERSON, "The event chain does not verify.", "Keep the file; the details name the first bad row. If you removed `.codeplane` yourself: `cpl clear --all`."),
        (6003, "CALL_INTERRUPTED", RETRY, "The call was interrupted before it changed anything.", "Call again."),
        (6004, "OUTCOME_UNKNOWN", FIX, "The call was interrupted and its effect is unknown.", "Look at the files named in the details before going on."),
    ),
    "Tests": (
        (7001, "TEST_RUNNER_NOT_FOUND", PERSON, "The test runner of these targets is not installed.", "Install it in the project's environment, or set `tests.runners`; the message says what was looked for."),
    ),
    "Governance": (
        (8001, "POLICY_DENIED", FIX, "A policy does not allow this call.", "Read the policy's reason in the message."),
        (8002, "APPROVAL_PENDING", RETRY, "The call waits for a person.", "Go on with other work, then send the same call again."),
        (8003, "SCOPE_VIOLATION", FIX, "The active intent does not cover this path.", "Request scope expansion or choose a valid intent"),
        (8004, "STALE_FILE", FIX, "The file changed since it was last seen.", "Read the file again and rebase the change."),
        (8005, "INTENT_MISMATCH", FIX, "The given intent is not the selected one.", "Leave intent_id out, or select that intent first."),
        (8006, "INVALID_MUTATION_CLASS", FIX, "The mutation class is not known.", "Use AST_REFACTOR or INTENT_EVOLUTION."),
        (8007, "INTENTS_UNREADABLE", FIX, "The intents file is missing or cannot be read.", "A person repairs .orchestration/active_intents.yaml; reads still work."),
        (8008, "CIRCUIT_OPEN", FIX, "The same call failed too often in this session.", "Try a different approach, or ask a person."),
        (8009, "INTENT_REQUIRED", FIX, "You must cite a valid active Intent ID before mutating tools.", "Call select_active_intent with one of the active intents."),
        (8010, "INTENT_NOT_ACTIVE", FIX, "The selected intent is not active.", "Select one of the active intents."),
        (8011, "APPROVAL_DENIED", FIX, "A person has refused this call.", "Do what the person's comment says, or choose another way."),
        (8012, "APPROVAL_NOT_FOUND", FIX, "There is no held call of that name.", "`cpl approvals list` shows those that wait."),
        (8013, "APPROVAL_EXPIRED", FIX, "The held call is no longer waiting.", "The agent sends the call again if it is still wanted."),
    ),
    "Memory": (
        (9001, "INVALID_DOMAIN", FIX, "There is no such domain.", "Use Tools, Protocol, Communication, Process, Debugging or Decision."),
        (9007, "INVALID_TRUST", FIX, "Trust is a whole number from 0 to 3.", "Send 0, 1, 2 or 3."),
        (9002, "INVALID_PHASE", FIX, "There is no such phase.", "Use one of the phases in the tool's schema."),
        (9004, "PRESET_NOT_FOUND", FIX, "There is no such preset.", "list_presets shows them."),
        (9005, "WORKFLOW_VIOLATION", FIX, "The workflow preset asks for another step first.", "Call the missing tool, or ask a person to apply another preset."),
        (9006, "COMPLIANCE_FAILED", FIX, "Steps of the workflow are missing.", "Call the missing tools, then verify again."),
        (9008, "NO_SIGNING_KEY", PERSON, "There is no usable signing key.", "A person checks the key in the user state directory; `cpl doctor` names it."),
        (9009, "CYCLE_COMPLETE", FIX, "The cycle is complete.", "Open the next one with SNAPSHOT."),
        (9010, "PHASE_VIOLATION", FIX, "The phase is not the next one.", "Call the expected phase."),
        (9011, "CONTEXT_HASH_MISMATCH", FIX, "The hash is not the one on record.", "Take a new snapshot or pack."),
        (9012, "TOKEN_INVALID", FIX, "The token is not valid.", "Get a new one with verify_compliance."),
        (9013, "TOKEN_EXPIRED", FIX, "The token is not valid at this time.", "Get a new one with verify_compliance."),
        (9014, "LEGACY_TOOL_DEPRECATED", FIX, "A newer tool replaces this one.", "Call the tool in `replacement`."),
        (9015, "MEMORY_PROVISIONAL_EXPIRED", FIX, "The plan cites a memory that has expired.", "Cite another source."),
        (9003, "EXPERIENCE_NOT_FOUND", FIX, "There is no such experience.", "Find it with search_experiences; its id is in the answer."),
    ),
    "Upstreams": (
        (11001, "UPSTREAM_UNAVAILABLE", RETRY, "An MCP server behind the gateway cannot be reached.", "Call again later; `cpl gateway show` says what is wrong with it."),
        (11002, "UPSTREAM_TIMEOUT", RETRY, "An MCP server behind the gateway did not answer in time.", "Look first whether the call had an effect; a person can raise gateway.call_timeout_sec."),
        (11003, "UPSTREAM_FAILED", FIX, "An MCP server behind the gateway refused the call or broke off.", "Correct the call as the message says; after a break look first whether it had an effect."),
        (11004, "UPSTREAM_TOOL_CHANGED", PERSON, "The tool is not as a person accepted it.", "A person compares and accepts it: `cpl gateway show`, `cpl gateway accept`."),
        (11005, "UPSTREAM_NOT_ACCEPTED", PERSON, "No person has accepted this MCP server.", "A person runs `cpl gateway accept` with its name."),
    ),
    "Controller": (
        (10001, "PLAN_MISSING_REQUIRED_FIELDS", FIX, "A field of the plan or an argument is missing or has the wrong type.", "Send what the violations name."),
        (10002, "PLAN_SCOPE_VIOLATION", FIX, "A path, symbol, node or verb is outside the scope of this turn.", "Name only files of list_scoped_files and nodes of the plan."),
        (10003, "PLAN_EVIDENCE_INSUFFICIENT", FIX, "A change rests on too few sources that were really read.", "Read the target file and the requirement, and cite those turns."),
        (10004, "PLAN_NOT_ATOMIC", FIX, "A node covers more than one thing, or two nodes share a file without an order.", "One file per change node; order nodes of one file with dependsOn."),
        (10005, "PLAN_VERIFICATION_WEAK", FIX, "A change is not checked by a real command.", "Cover each change node by a validate node that runs tests."),
        (10006, "PLAN_STRATEGY_MISMATCH", FIX, "The plan names another strategy than this work has.", "Use the strategy of knowledgeStrategy and cite observed turns."),
        (10007, "PLAN_WEAK_MODEL_AMBIGUOUS", FIX, "The plan leaves a decision to its executor.", "Say exactly what to change, with anchors that occur once."),
        (10008, "PLAN_FEDERATION_PROOF_MISSING", FIX, "The chain from host route to remote component is broken.", "Follow the broken link with trace_symbol_graph."),
        (10009, "PLAN_ORIGIN_UNKNOWN", FIX, "The chain from table to definition is broken.", "Follow the broken link with trace_symbol_graph."),
        (10010, "PLAN_POLICY_VIOLATION", FIX, "A policy or a learned rule forbids the plan.", "Read the rule that the violation names and change the plan."),
        (10011, "PLAN_MISSING_CONTRACT_ANCHOR", FIX, "A change of an API names no operation of its description.", "Fetch the description and cite an operation."),
        (10012, "PLAN_VALIDATION_CONFIDENCE_TOO_LOW", FIX, "Too little is known to expect success.", "Name unique symbols and tests that cover them."),
        (10013, "EXEC_SIDE_EFFECT_COLLISION", RETRY, "Another session holds what this call would change.", "Wait until it is released, or change something else."),
        (10014, "EXEC_UNGATED_SIDE_EFFECT", FIX, "The gate of the side effect is not open.", "Finish the nodes before it, or submit a plan with a gate."),
        (10015, "PACK_INSUFFICIENT", FIX, "No context pack can be made.", "Wait for the index, or send `auto` for the pack."),
        (10016, "PACK_REQUIRED_ANCHOR_UNRESOLVED", FIX, "Something that the plan builds on was not found.", "Follow the escalation plan of the answer."),
        (10017, "CONTROLLER_STATE_INVALID", PERSON, "The stored state of a run was changed from outside.", "Start a new run session; `cpl controller show` names the file."),
    ),
}
# fmt: on

ERROR_TABLE: tuple[ErrorEntry, ...] = tuple(
    ErrorEntry(number, name, *helps, message, action, family)
    for family, rows in _ROWS.items()
    for number, name, helps, message, action in rows
)

_BY_NAME = MappingProxyType({entry.name: entry for entry in ERROR_TABLE})


def entry_for(name: str) -> ErrorEntry:
    """Return the row of a code.

    Raises:
        KeyError: the code is not registered, which is a bug in the caller.
    """
    return _BY_NAME[name]


def find_entry(name_or_number: str) -> ErrorEntry | None:
    """Return the row for a name or a number given as text, or None."""
    wanted = name_or_number.strip()
    if wanted.isdigit():
        return next((entry for entry in ERROR_TABLE if entry.number == int(wanted)), None)
    return _BY_NAME.get(wanted.upper())

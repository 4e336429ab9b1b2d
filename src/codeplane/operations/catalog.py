"""All operations, in alphabetical order. A new one is one file and one line here."""

from types import MappingProxyType

from codeplane.operations.call import CALL_OPERATION
from codeplane.operations.delegate_intent import DELEGATE_INTENT
from codeplane.operations.describe import DESCRIBE
from codeplane.operations.git_branch import GIT_BRANCH
from codeplane.operations.git_checkout import GIT_CHECKOUT
from codeplane.operations.git_commit import GIT_COMMIT
from codeplane.operations.git_diff import GIT_DIFF
from codeplane.operations.git_history import GIT_HISTORY
from codeplane.operations.git_inspect import GIT_INSPECT
from codeplane.operations.git_log import GIT_LOG
from codeplane.operations.git_merge import GIT_MERGE
from codeplane.operations.git_pull import GIT_PULL
from codeplane.operations.git_push import GIT_PUSH
from codeplane.operations.git_rebase import GIT_REBASE
from codeplane.operations.git_remote import GIT_REMOTE
from codeplane.operations.git_reset import GIT_RESET
from codeplane.operations.git_stage import GIT_STAGE
from codeplane.operations.git_stage_and_commit import GIT_STAGE_AND_COMMIT
from codeplane.operations.git_stash import GIT_STASH
from codeplane.operations.git_status import GIT_STATUS
from codeplane.operations.git_submodule import GIT_SUBMODULE
from codeplane.operations.git_worktree import GIT_WORKTREE
from codeplane.operations.list_files import LIST_FILES
from codeplane.operations.map_repo import MAP_REPO
from codeplane.operations.operation import AnyOperation
from codeplane.operations.read_file_full import READ_FILE_FULL
from codeplane.operations.read_source import READ_SOURCE
from codeplane.operations.request_scope_expansion import REQUEST_SCOPE_EXPANSION
from codeplane.operations.reset_budget import RESET_BUDGET
from codeplane.operations.search import SEARCH
from codeplane.operations.select_active_intent import SELECT_ACTIVE_INTENT
from codeplane.operations.undo import UNDO
from codeplane.operations.write_source import WRITE_SOURCE

CATALOG: tuple[AnyOperation, ...] = (
    CALL_OPERATION,
    DELEGATE_INTENT,
    DESCRIBE,
    GIT_BRANCH,
    GIT_CHECKOUT,
    GIT_COMMIT,
    GIT_DIFF,
    GIT_HISTORY,
    GIT_INSPECT,
    GIT_LOG,
    GIT_MERGE,
    GIT_PULL,
    GIT_PUSH,
    GIT_REBASE,
    GIT_REMOTE,
    GIT_RESET,
    GIT_STAGE,
    GIT_STAGE_AND_COMMIT,
    GIT_STASH,
    GIT_STATUS,
    GIT_SUBMODULE,
    GIT_WORKTREE,
    LIST_FILES,
    MAP_REPO,
    READ_FILE_FULL,
    READ_SOURCE,
    REQUEST_SCOPE_EXPANSION,
    RESET_BUDGET,
    SEARCH,
    SELECT_ACTIVE_INTENT,
    UNDO,
    WRITE_SOURCE,
)

OPERATIONS = MappingProxyType({operation.name: operation for operation in CATALOG})

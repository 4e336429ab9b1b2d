"""All operations, in alphabetical order. A new one is one file and one line here."""

from types import MappingProxyType

from codeplane.operations.call import CALL_OPERATION
from codeplane.operations.describe import DESCRIBE
from codeplane.operations.list_files import LIST_FILES
from codeplane.operations.map_repo import MAP_REPO
from codeplane.operations.operation import AnyOperation
from codeplane.operations.read_file_full import READ_FILE_FULL
from codeplane.operations.read_source import READ_SOURCE
from codeplane.operations.reset_budget import RESET_BUDGET
from codeplane.operations.search import SEARCH
from codeplane.operations.undo import UNDO
from codeplane.operations.write_source import WRITE_SOURCE

CATALOG: tuple[AnyOperation, ...] = (
    CALL_OPERATION,
    DESCRIBE,
    LIST_FILES,
    MAP_REPO,
    READ_FILE_FULL,
    READ_SOURCE,
    RESET_BUDGET,
    SEARCH,
    UNDO,
    WRITE_SOURCE,
)

OPERATIONS = MappingProxyType({operation.name: operation for operation in CATALOG})

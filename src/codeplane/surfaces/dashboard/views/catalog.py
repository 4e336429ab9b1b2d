"""All pages, in the order of the menu. Adding one takes a module here, a template and one line."""

from codeplane.surfaces.dashboard.page_context import View
from codeplane.surfaces.dashboard.views.approvals import APPROVALS
from codeplane.surfaces.dashboard.views.ledger import LEDGER
from codeplane.surfaces.dashboard.views.now import NOW
from codeplane.surfaces.dashboard.views.operation import OPERATION, UNDO
from codeplane.surfaces.dashboard.views.operations import OPERATIONS

VIEWS: tuple[View, ...] = (NOW, APPROVALS, OPERATIONS, UNDO, OPERATION, LEDGER)

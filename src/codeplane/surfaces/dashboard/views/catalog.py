"""All pages, in the order of the menu. Adding one takes a module here, a template and one line."""

from codeplane.surfaces.dashboard.page_context import View
from codeplane.surfaces.dashboard.views.approvals import APPROVALS
from codeplane.surfaces.dashboard.views.blame import BLAME
from codeplane.surfaces.dashboard.views.controller import CONTROLLER, RUN
from codeplane.surfaces.dashboard.views.health import HEALTH
from codeplane.surfaces.dashboard.views.intents import INTENT, INTENTS
from codeplane.surfaces.dashboard.views.ledger import LEDGER
from codeplane.surfaces.dashboard.views.memory import MEMORY
from codeplane.surfaces.dashboard.views.now import NOW
from codeplane.surfaces.dashboard.views.operation import OPERATION, UNDO
from codeplane.surfaces.dashboard.views.operations import OPERATIONS
from codeplane.surfaces.dashboard.views.tests import TESTS

VIEWS: tuple[View, ...] = (
    NOW,
    APPROVALS,
    OPERATIONS,
    UNDO,
    OPERATION,
    INTENTS,
    INTENT,
    BLAME,
    TESTS,
    MEMORY,
    CONTROLLER,
    RUN,
    LEDGER,
    HEALTH,
)

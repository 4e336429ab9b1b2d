"""All policies, in the order in which they are asked; a new one is one file and one line here."""

from codeplane.govern.policies.circuit_breaker import CircuitBreaker
from codeplane.govern.policies.foreign_places import ForeignPlaces
from codeplane.govern.policies.git_programs import GitPrograms
from codeplane.govern.policies.human_approval import HumanApproval
from codeplane.govern.policies.intent_presence import IntentPresence
from codeplane.govern.policies.intent_validity import IntentValidity
from codeplane.govern.policies.optimistic_lock import OptimisticLock
from codeplane.govern.policies.protected_paths import ProtectedPaths
from codeplane.govern.policies.reserved_for_people import ReservedForPeople
from codeplane.govern.policies.risk import Risk
from codeplane.govern.policies.scope import Scope
from codeplane.govern.policies.staged_secrets import StagedSecrets
from codeplane.govern.policies.team_rules import TeamRules
from codeplane.govern.policies.workflow_gates import WorkflowGates
from codeplane.govern.policies.write_metadata import WriteMetadata
from codeplane.govern.verdicts import GatePolicy

POLICIES: tuple[GatePolicy, ...] = (
    ProtectedPaths(),
    ForeignPlaces(),
    GitPrograms(),
    StagedSecrets(),
    ReservedForPeople(),
    IntentPresence(),
    IntentValidity(),
    WriteMetadata(),
    Scope(),
    TeamRules(),
    WorkflowGates(),
    CircuitBreaker(),
    Risk(),
    HumanApproval(),
    OptimisticLock(),
)

"""The team's policies of plans, from the seeds of the graph: files that people commit. They can only forbid more."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from codeplane.controller.codes import Code
from codeplane.controller.world import Policy, Rule
from codeplane.store.graph.seeds import read_seeds

_TYPE = "policy"
_CODES = frozenset(code.value for code in Code)


def load_policies(root: Path) -> tuple[Policy, ...]:
    """Return the policies by id; rows that cannot be read are left out, `cpl graph status` names them."""
    return tuple(
        _policy(one.row.id, str(one.row.stamp.version), one.row.props) for one in read_seeds(root).of_type(_TYPE)
    )


def _policy(policy_id: str, version: str, props: Mapping[str, Any]) -> Policy:
    steps, anchors, code = props.get("requiredSteps"), props.get("anchors"), props.get("denyCode")
    rule = Rule(
        str(props.get("condition", "")),
        tuple(map(str, steps)) if isinstance(steps, list) else (),
        code if code in _CODES else None,
        tuple(map(str, anchors)) if isinstance(anchors, list) else (),
    )
    return Policy(policy_id, version, rule, props.get("active", True) is not False)

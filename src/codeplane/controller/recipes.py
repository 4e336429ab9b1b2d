"""Recipes: named steps with checked parameters. Built-in ones, and narrower ones that a team writes into a file."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml
from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError

from codeplane.controller.codes import Code
from codeplane.controller.verb import denied

MANIFEST: Final = ".orchestration/recipes.yaml"
_MAX_MANIFEST: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Recipe:
    """One recipe; `handler` names the built-in step that it runs."""

    recipe_id: str
    version: str
    handler: str
    params: Mapping[str, Any]
    mutates: bool
    node_kinds: frozenset[str]
    timeout_ms: int = 600_000


BUILT_IN: Final = (
    Recipe(
        "replace_lexeme_in_file",
        "1",
        "replace_lexeme_in_file",
        {
            "type": "object",
            "properties": {
                "file": {"type": "string", "minLength": 1},
                "from": {"type": "string", "minLength": 1},
                "to": {"type": "string", "minLength": 1},
                "expectCount": {"type": "integer", "minimum": 1},
            },
            "required": ["file", "from", "to", "expectCount"],
            "additionalProperties": False,
        },
        mutates=True,
        node_kinds=frozenset({"change"}),
    ),
    Recipe(
        "run_targeted_validation",
        "1",
        "run_targeted_validation",
        {
            "type": "object",
            "properties": {
                "hookIds": {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 50},
            },
            "required": ["hookIds"],
            "additionalProperties": False,
        },
        mutates=False,
        node_kinds=frozenset({"validate", "change"}),
    ),
)


def find_recipe(root: Path, recipe_id: str) -> Recipe:
    """Return a recipe by its id.

    Raises:
        DeniedError: PLAN_MISSING_REQUIRED_FIELDS/recipe_unknown.
    """
    recipes = {one.recipe_id: one for one in (*read_manifest(root), *BUILT_IN)}
    if recipe_id not in recipes:
        message = f"There is no recipe {recipe_id[:80]!r}. Known: {', '.join(sorted(recipes))}."
        raise denied(Code.MISSING_FIELDS, "recipe_unknown", message, "/args/recipeId")
    return recipes[recipe_id]


def check_params(recipe: Recipe, params: Any) -> dict[str, Any]:
    """Return the parameters of a recipe, checked.

    Raises:
        DeniedError: PLAN_POLICY_VIOLATION/recipe_params.
    """
    given = params if params is not None else {}
    problems = sorted(Draft202012Validator(dict(recipe.params)).iter_errors(given), key=str)
    if problems:
        where = "/".join(map(str, problems[0].absolute_path))
        message = f"{recipe.recipe_id}: {problems[0].message[:300]}"
        raise denied(Code.POLICY, "recipe_params", message, f"/args/params/{where}".rstrip("/"))
    return dict(given)


def read_manifest(root: Path) -> tuple[Recipe, ...]:
    """Return the recipes of a team; rows that cannot be used are left out.

    A row may only narrow a built-in step: its parameters must satisfy the step's own schema, too.
    """
    path = root / MANIFEST
    try:
        if path.is_symlink() or path.stat().st_size > _MAX_MANIFEST:
            return ()
        document = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, yaml.YAMLError, RecursionError):
        return ()
    rows = document.get("recipes") if isinstance(document, dict) else None
    found = [_recipe(row) for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
    return tuple(one for one in found if one is not None)


def _recipe(row: Mapping[str, Any]) -> Recipe | None:
    steps = {one.handler: one for one in BUILT_IN}
    step = steps.get(str(row.get("handler")))
    schema, kinds = row.get("paramsSchema"), row.get("allowedNodeKinds")
    recipe_id = row.get("id")
    if step is None or not isinstance(schema, dict) or not isinstance(recipe_id, str) or recipe_id in steps:
        return None
    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError:
        return None
    narrowed = step.node_kinds & frozenset(kinds) if isinstance(kinds, list) else step.node_kinds
    return Recipe(
        recipe_id,
        str(row.get("version", "")),
        step.handler,
        {"allOf": [dict(step.params), schema]},
        step.mutates,
        narrowed,
        row["timeoutMs"] if isinstance(row.get("timeoutMs"), int) else step.timeout_ms,
    )

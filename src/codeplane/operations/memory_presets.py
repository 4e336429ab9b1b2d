"""Workflow presets: list, apply, check, show and export them. Only a person puts one into force."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, StringConstraints

from codeplane.core.canonical_json import digest
from codeplane.core.errors import CodePlaneError
from codeplane.core.paths import RepoPath
from codeplane.core.printable import counted
from codeplane.core.version import VERSION
from codeplane.edit.images import FileImage
from codeplane.edit.protection import is_protected
from codeplane.edit.records import Change
from codeplane.ledger.effects import EffectClass, Effects
from codeplane.memory.presets import BUILT_IN, check_name, check_preset, parse_preset
from codeplane.memory.workflow_gates import PRESET_KIND, active_preset
from codeplane.operations.command import Command
from codeplane.operations.edit_recovery import recover_edit
from codeplane.operations.memory_cycle import FAMILY, PROFILES, MemoryRequest, notary_of
from codeplane.operations.memory_workflow import WorkflowId
from codeplane.operations.models import PathText, Result, as_object
from codeplane.operations.operation import CallContext, Example, Operation, Plan, planned
from codeplane.operations.write_access import writable
from codeplane.workspace.workspace import Workspace

PRESETS = RepoPath.parse(".orchestration/presets")
_MAX_PRESETS = 200
_Name = Annotated[str, StringConstraints(min_length=1, max_length=200)]


def _path_of(name: str) -> RepoPath:
    return PRESETS.joined(f"{check_name(name)}.json")


def find_preset(workspace: Workspace, name: str) -> tuple[Mapping[str, Any], RepoPath | None]:
    """Return a preset, and its file if it is not built in.

    Raises:
        CodePlaneError: PRESET_NOT_FOUND, or CONFIG_INVALID for a file that is not a preset.
    """
    if name in BUILT_IN:
        return BUILT_IN[name], None
    path = _path_of(name)
    found = workspace.editor.look(path)
    if found is None:
        raise CodePlaneError("PRESET_NOT_FOUND", f"There is no preset `{name}`.")
    return parse_preset(found.image.data.decode("utf-8", "replace"), name), path


class NoPresetRequest(MemoryRequest):
    """No arguments."""


class ListPresetsResult(Result):
    """All presets."""

    presets: list[dict[str, Any]]
    count: int
    built_in_count: int
    custom_count: int
    active_preset: str | None
    problems: list[str]


def _list(context: CallContext, _request: NoPresetRequest) -> ListPresetsResult:
    workspace = context.workspace
    presets = [
        {"name": name, "description": one["description"], "enforcement": one["enforcement"], "type": "built-in"}
        for name, one in BUILT_IN.items()
    ]
    problems: list[str] = []
    directory = workspace.root / PRESETS.text
    names = sorted(path.stem for path in directory.glob("*.json"))[:_MAX_PRESETS] if directory.is_dir() else []
    for name in names:
        try:
            preset, path = find_preset(workspace, name)
        except CodePlaneError as error:
            problems.append(error.message)
            continue
        if path is not None:
            described = {"name": name, "description": str(preset.get("description", ""))}
            how = str(preset.get("enforcement", "custom"))
            presets.append({**described, "enforcement": how, "type": "custom", "path": path.text})
    active = active_preset(workspace.chain)
    return ListPresetsResult(
        presets=presets,
        count=len(presets),
        built_in_count=len(BUILT_IN),
        custom_count=len(presets) - len(BUILT_IN),
        active_preset=str(active["name"]) if active is not None else None,
        problems=problems,
    )


LIST_PRESETS = Operation(
    name="list_presets",
    family=FAMILY,
    summary="List the workflow presets and which one is in force.",
    request_type=NoPresetRequest,
    result_type=ListPresetsResult,
    effect=EffectClass.READ,
    plan=planned(_list),
    render=lambda result: "\n".join(
        [f"In force: {result.active_preset or 'none'}"]
        + [f"{one['name']} ({one['enforcement']}): {one['description']}" for one in result.presets]
    ),
    profiles=PROFILES,
    when_to_use=("A person asks which workflows there are.",),
    when_not_to_use=("To see missing steps: check_compliance tells.",),
    examples=(Example("All", {}),),
)


class ApplyPresetRequest(MemoryRequest):
    """Which preset."""

    preset_name: _Name = Field(description="From list_presets.")
    session_id: WorkflowId | None = Field(None, description="A name for the workflow; the preset is for everybody.")


class ApplyPresetResult(Result):
    """The preset that is in force."""

    applied: bool
    preset_name: str
    session_id: str
    gates: dict[str, Any]
    enforcement: str
    config_path: str
    message: str


def _plan_apply(context: CallContext, request: ApplyPresetRequest) -> Plan[ApplyPresetResult]:
    workspace = context.workspace
    preset, path = find_preset(workspace, request.preset_name)

    def work() -> ApplyPresetResult:
        body = {"preset": dict(preset), "digest": digest(dict(preset)), "call": context.call_id}
        notary_of(context).append(PRESET_KIND, body)
        config = workspace.places.config_file.relative_to(workspace.root)
        return ApplyPresetResult(
            applied=True,
            preset_name=request.preset_name,
            session_id=request.session_id or context.session.label,
            gates=dict(preset["gates"]),
            enforcement=str(preset.get("enforcement", "custom")),
            config_path=path.text if path is not None else config.as_posix(),
            message=f"{request.preset_name} is in force; other settings are as before.",
        )

    shown = json.dumps(preset, indent=2, ensure_ascii=False)
    return Plan(
        work, Effects(reserved=f"put the workflow preset {request.preset_name} into force"), preview=lambda: shown
    )


APPLY_PRESET = Operation(
    name="apply_preset",
    family=FAMILY,
    summary="Put a workflow preset into force; a person decides.",
    request_type=ApplyPresetRequest,
    result_type=ApplyPresetResult,
    effect=EffectClass.RECORD,
    plan=_plan_apply,
    render=lambda result: result.message,
    command=Command(
        path=("memory", "preset"),
        help="Put a workflow preset into force: three-gate, minimal, strict, custom or one of .orchestration/presets.",
        shows=lambda result: (result.message,),
        arguments=("preset_name",),
    ),
    profiles=PROFILES,
    when_to_use=("A person wants steps to be taken before changes.",),
    when_not_to_use=("On your own account: it waits for a person.",),
    examples=(Example("Three gates", {"preset_name": "three-gate"}),),
)


JsonObject = Annotated[dict[str, Any], BeforeValidator(as_object)]


class ValidateConfigRequest(MemoryRequest):
    """The preset to check."""

    config: JsonObject = Field(description="A preset: name, gates, token_ttl, enforcement.")


class ValidateConfigResult(Result):
    """What is wrong, and what could be better."""

    valid: bool
    errors: list[str]
    warnings: list[str]
    message: str


def _validate(_context: CallContext, request: ValidateConfigRequest) -> ValidateConfigResult:
    report = check_preset(request.config)
    message = "The preset is valid." if not report.errors else f"{counted(len(report.errors), 'error')}."
    return ValidateConfigResult(
        valid=not report.errors, errors=list(report.errors), warnings=list(report.warnings), message=message
    )


VALIDATE_CONFIG = Operation(
    name="validate_config",
    family=FAMILY,
    summary="Check a workflow preset before it is saved.",
    request_type=ValidateConfigRequest,
    result_type=ValidateConfigResult,
    effect=EffectClass.READ,
    plan=planned(_validate),
    render=lambda result: "\n".join([result.message, *result.errors, *result.warnings]),
    command=Command(
        path=("memory", "validate"),
        help="Check a workflow preset, given as JSON text; exit code 1 when it is not valid.",
        shows=lambda result: (result.message, *result.errors, *result.warnings),
        arguments=("config",),
        is_finding=lambda result: not result.valid,
    ),
    profiles=PROFILES,
    when_to_use=("A preset is being written.",),
    when_not_to_use=("For CodePlane's settings: `cpl status` shows them.",),
    examples=(Example("A preset without gates", {"config": {"name": "ours", "gates": {}}}),),
)


class GetConfigRequest(MemoryRequest):
    """Which workflow."""

    session_id: WorkflowId | None = Field(None, description="Repeated in the answer.")


class GetConfigResult(Result):
    """The preset in force and the settings of memory."""

    active_preset: str | None
    config: dict[str, Any]
    session_id: str


def _get(context: CallContext, request: GetConfigRequest) -> GetConfigResult:
    preset = active_preset(context.workspace.chain)
    settings = asdict(context.workspace.settings.memory)
    settings.pop("friction")
    config = {**(preset or {}), **settings, "installedVersion": VERSION}
    name = str(preset["name"]) if preset is not None else None
    return GetConfigResult(active_preset=name, config=config, session_id=request.session_id or context.session.label)


GET_CONFIG = Operation(
    name="get_config",
    family=FAMILY,
    summary="Show the workflow preset in force and the settings of memory.",
    request_type=GetConfigRequest,
    result_type=GetConfigResult,
    effect=EffectClass.READ,
    plan=planned(_get),
    profiles=PROFILES,
    when_to_use=("To see limits of memory and the gates.",),
    when_not_to_use=("To see what this session has done: get_workflow_status tells.",),
    examples=(Example("Now", {}),),
)


class ExportConfigRequest(MemoryRequest):
    """Which preset, and where to."""

    preset_name: _Name
    file_path: PathText | None = Field(
        None,
        description="A file of the repository; without it .orchestration/presets/<name>.json, if a person agrees.",
    )


class ExportConfigResult(Result):
    """The file."""

    exported: bool
    preset_name: str
    file_path: str
    size_bytes: int
    message: str


def _plan_export(context: CallContext, request: ExportConfigRequest) -> Plan[ExportConfigResult]:
    workspace = context.workspace
    preset, _ = find_preset(workspace, request.preset_name)
    given = RepoPath.parse(request.file_path) if request.file_path is not None else None
    is_own = given is None or (given.parent == PRESETS and given == _path_of(given.name.removesuffix(".json")))
    path = given or _path_of(request.preset_name)
    if not is_own or not is_protected(path):
        path = writable(workspace, path.text, follow=True).real
    data = (json.dumps(preset, indent=2, ensure_ascii=False) + "\n").encode("utf-8")

    def work() -> ExportConfigResult:
        found = workspace.editor.look(path)
        before = found.image if found is not None else None
        workspace.editor.apply(context.call_id, [Change(path, before, FileImage(data))])
        message = f"{request.preset_name} written to {path}."
        return ExportConfigResult(
            exported=True, preset_name=request.preset_name, file_path=path.text, size_bytes=len(data), message=message
        )

    reserved = f"write the preset {path}" if is_own else ""
    effects = Effects(writes=(path,), overwrites=(path,), reserved=reserved)
    return Plan(work, effects, preview=lambda: data.decode("utf-8"))


EXPORT_CONFIG = Operation(
    name="export_config",
    family=FAMILY,
    summary="Write a workflow preset to a file.",
    request_type=ExportConfigRequest,
    result_type=ExportConfigResult,
    effect=EffectClass.WRITE,
    plan=_plan_export,
    render=lambda result: result.message,
    recover=recover_edit,
    profiles=PROFILES,
    when_to_use=("A person wants a preset of their own to start from.",),
    when_not_to_use=("To put it into force: apply_preset does that.",),
    examples=(Example("To a file", {"preset_name": "three-gate", "file_path": "docs/three-gate.json"}),),
)

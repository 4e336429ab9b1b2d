"""All verbs, in the order in which answers list them; a new one is one file and one line here."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from codeplane.controller.verb import Verb
from codeplane.controller.verbs import (
    apply_code_patch,
    execute_gated_side_effect,
    fetch_api_spec,
    fetch_jira_ticket,
    get_original_prompt,
    list_available_verbs,
    list_directory_contents,
    list_scoped_files,
    lookup_symbol_definition,
    read_file_lines,
    request_evidence_guidance,
    run_automation_recipe,
    run_sandboxed_code,
    search_codebase_text,
    signal_task_complete,
    submit_execution_plan,
    trace_symbol_graph,
    write_scratch_file,
)

VERBS: Final[Mapping[str, Verb]] = MappingProxyType(
    {
        module.VERB.name: module.VERB
        for module in (
            list_available_verbs,
            list_scoped_files,
            list_directory_contents,
            read_file_lines,
            lookup_symbol_definition,
            trace_symbol_graph,
            search_codebase_text,
            fetch_jira_ticket,
            fetch_api_spec,
            get_original_prompt,
            write_scratch_file,
            submit_execution_plan,
            request_evidence_guidance,
            signal_task_complete,
            apply_code_patch,
            run_sandboxed_code,
            execute_gated_side_effect,
            run_automation_recipe,
        )
    }
)

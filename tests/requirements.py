"""Which test shows which requirement; `test_requirements.py` fails when a named test does not exist."""

REQUIREMENTS: dict[str, tuple[str, tuple[str, ...]]] = {
    "CORE-PATHS": (
        "paths out of the tree in every form are refused",
        ("test_no_spelling_of_a_path_leads_out", "test_a_secret_file_is_kept_back"),
    ),
    "CORE-ERRORS": (
        "every error code of the specifications is in one table with unique numbers",
        (
            "test_every_code_of_the_specifications_is_listed_or_has_its_number_reserved",
            "test_names_and_numbers_are_unique",
        ),
    ),
    "CONFIG-ERRORS": (
        "a wrong key names file, line, key and the nearest valid one, and nothing starts",
        ("test_invalid_configuration_names_file_line_key_and_nearest_key", "test_invalid_configuration_starts_nothing"),
    ),
    "CONFIG-ORDER": ("later layers win and each value says where it came from", ("test_higher_layer_wins",)),
    "LOG-FIELDS": (
        "log lines have time, level and event",
        ("test_server_log_is_json_lines_with_time_level_and_event",),
    ),
    "LOG-FLOOD": ("a bug is one line in the log", ("test_bug_in_a_handler_is_one_line_in_the_log",)),
    "DOOR-ROWS": (
        "a mutation has a begun row and a final row",
        ("test_a_write_that_is_allowed_happens_and_leaves_two_rows_with_the_states_around_it",),
    ),
    "DOOR-DENY": (
        "what is denied or held is neither begun nor done",
        ("test_a_write_that_is_refused_is_not_begun_and_nothing_is_written",),
    ),
    "DOOR-HOLD": ("a hold blocks nobody", ("test_a_held_call_blocks_nobody_and_passes_once_it_is_approved",)),
    "DOOR-KILL": (
        "kill -9 between every two steps and recovery tells the outcome",
        ("test_a_process_killed_after_any_step_leaves_a_ledger_that_recovers_to_the_truth",),
    ),
    "SERVER-ONE": (
        "a second server says so and ends well",
        ("test_second_up_prints_the_address_of_the_first_and_ends_well",),
    ),
    "SERVER-STOP": (
        "signals end the server in order",
        ("test_signal_ends_the_server_with_exit_code_0", "test_call_in_flight_at_sigterm_is_still_answered"),
    ),
    "SERVER-EVENTS": (
        "event streams resume and get a shutdown event",
        ("test_event_stream_resumes_after_the_last_event_id", "test_every_event_stream_gets_a_shutdown_event"),
    ),
    "SERVER-TRUST": (
        "only loopback names, no foreign origins, changes need the token",
        ("test_foreign_host_is_refused", "test_foreign_origin_is_refused", "test_changing_over_rest_needs_the_token"),
    ),
    "MCP-PROFILES": ("profiles decide which tools are listed", ("test_profile_decides_which_tools_are_listed",)),
    "MCP-TOKENS": ("core stays under 1,300 tokens", ("test_core_tool_list_stays_under_1300_tokens",)),
    "MCP-PROGRESS": (
        "progress and cancellation reach the other side",
        ("test_progress_reaches_the_client", "test_cancelled_call_is_told_to_stop_and_the_session_goes_on"),
    ),
    "MCP-FORGIVE": (
        "arguments that can mean only one thing are accepted and said",
        ("test_what_can_mean_only_one_thing_is_accepted_and_the_answer_says_how_it_was_read",),
    ),
    "MCP-SESSIONS": (
        "a session is resumed by its id, also over a take-over",
        ("test_session_is_resumed_across_transports", "test_the_session_is_the_same_after_a_take_over"),
    ),
    "STDIO-TAKEOVER": (
        "when the serving client dies another takes over",
        ("test_idle_client_keeps_its_session_when_the_server_is_killed", "test_one_of_three_bridges_takes_over"),
    ),
    "STDIO-BAD": ("malformed lines get the right error", ("test_bad_line_gets_the_right_error",)),
    "READ-PAGES": (
        "pages together are the whole file",
        ("test_every_page_of_ordinary_lines_ends_at_a_line_end",),
    ),
    "CLI-CLEAR": (
        "clear --all lists what would be lost",
        ("test_clear_all_without_yes_lists_the_losses_and_removes_nothing",),
    ),
    "DOCS-DRIFT": ("generated pages do not drift", ("test_reference_page_has_not_drifted_from_the_code",)),
    "INDEX-FRESH": ("a change just before the call is seen", ("test_a_change_just_before_the_call_is_seen",)),
    "INDEX-HEAL": ("a damaged index heals itself", ("test_a_damaged_index_heals_itself",)),
    "INDEX-KILL": ("a killed build is completed", ("test_a_build_that_was_killed_is_completed_by_the_next",)),
    "SEARCH-COMPLETE": ("a literal finds the lines grep finds", ("test_a_literal_finds_the_same_lines_as_grep",)),
    "INDEX-DETERMINISM": (
        "any history ends in the facts of a cold build",
        ("test_an_incremental_history_ends_with_the_facts_of_a_cold_build", "test_two_cold_builds_are_equal"),
    ),
    "FACT-TABLES": (
        "every table and query of section 7 has its names",
        (
            "test_fact_tables_have_the_columns_of_the_specification",
            "test_required_queries_have_the_names_of_the_specification",
        ),
    ),
    "LINK-PYTHON": ("Python names mean what the cases say", ("test_names_mean_what_the_case_says",)),
    "SEARCH-SYMBOLS": (
        "references follow imports and leave other symbols alone",
        ("test_references_follow_imports_and_leave_other_symbols_alone", "test_symbol_search_forgives_and_says_so"),
    ),
    "IMPACT": ("tests are matched with their confidence", ("test_an_exact_import_is_sure",)),
    "RANKED-HEAL": ("a lost ranked index is built again", ("test_a_lost_or_damaged_ranked_index_is_built_again",)),
    "CONTEXT-OWNER": ("a file has at most one owner per family", ("test_a_file_has_at_most_one_context_per_family",)),
    "INDEX-WORKTREE": (
        "a new worktree is seeded",
        ("test_a_new_worktree_begins_with_the_index_of_the_main_tree",),
    ),
    "INDEX-SUBMODULE": (
        "submodules are followed",
        ("test_files_of_a_checked_out_submodule_are_indexed_and_follow_its_head",),
    ),
    "INDEX-EPOCHS": (
        "epochs go on above the ledger's",
        ("test_epochs_of_a_deleted_index_go_on_above_the_last_one_in_the_ledger",),
    ),
    "INDEX-COMPACT": ("room is given back", ("test_an_index_of_mostly_unused_text_is_built_again",)),
    "INDEX-BAD-INPUT": (
        "kills, full disks, damage, odd files and names, moving branches",
        (
            "test_builds_and_updates_that_are_killed_end_with_the_facts_of_a_cold_build",
            "test_a_full_disk_under_the_pack_is_said_and_keeps_the_old_epoch",
            "test_a_ranked_index_that_cannot_be_written_is_said_and_built_later",
            "test_damage_to_the_stored_files_is_healed",
            "test_a_file_that_changes_while_it_is_read_is_right_at_the_next_question",
            "test_a_line_of_twenty_megabytes_is_searched_and_its_limit_named",
            "test_deep_nesting_is_indexed_or_named_and_harms_no_other_file",
            "test_a_file_whose_parsing_takes_too_long_is_named",
            "test_special_files_and_links_are_left_alone",
            "test_a_change_of_case_only_is_a_rename",
            "test_answers_while_branches_change_are_each_of_one_state",
            "test_a_language_that_is_not_known_is_searched_as_text",
            "test_an_expression_that_takes_too_long_is_given_up_and_said",
            "test_a_question_that_cannot_be_meant_is_refused",
        ),
    ),
    "EDIT-ATOMIC": (
        "a batch is all old or all new, whenever it is killed",
        (
            "test_a_batch_killed_at_any_call_is_all_old_or_all_new_after_recovery",
            "test_a_killed_process_leaves_no_mixed_tree_and_no_change_without_a_row",
            "test_a_refusal_of_the_system_in_the_middle_takes_everything_back",
            "test_a_full_disk_while_staging_leaves_nothing",
        ),
    ),
    "EDIT-NOTHING-LOST": (
        "nobody's concurrent change is lost",
        (
            "test_what_somebody_writes_at_the_last_moment_is_not_lost",
            "test_no_update_of_several_processes_is_lost",
            "test_what_an_exchange_took_from_somebody_is_put_back_by_recovery",
        ),
    ),
    "EDIT-BYTES": (
        "only the intended bytes differ",
        ("test_random_edits_change_only_what_they_name", "test_endings_marks_and_encodings_stay"),
    ),
    "EDIT-ANSWER": (
        "one answer has the whole delta, and a refusal what the next call needs",
        (
            "test_one_answer_says_everything",
            "test_a_text_that_stands_nowhere_is_answered_with_what_is_near",
            "test_a_stale_file_is_told_with_who_changed_it",
            "test_lines_that_drifted_are_corrected_and_said",
        ),
    ),
    "EDIT-BAD-INPUT": (
        "what may not or cannot be done changes nothing",
        (
            "test_what_may_not_or_cannot_be_done_is_refused_and_changes_nothing",
            "test_two_edits_of_one_place_are_refused",
        ),
    ),
    "UNDO": (
        "what was done is taken back exactly, later work stays, conflicts are shown",
        (
            "test_bytes_existence_mode_and_link_come_back",
            "test_attributes_come_back",
            "test_later_work_in_the_same_file_stays",
            "test_what_was_changed_again_is_shown_and_not_touched",
            "test_a_session_is_taken_back_as_a_whole_and_leaves_the_others",
        ),
    ),
    "TASK-LIMITS": (
        "call n+1 is refused with its details, also between threads and processes, and counters survive kill -9",
        (
            "test_call_n_plus_1_is_refused_as_the_specification_says",
            "test_threads_at_the_limit_never_get_more_than_the_limit",
            "test_processes_at_the_limit_never_get_more_than_the_limit",
            "test_a_call_whose_process_was_killed_after_its_beginning_counts_once",
        ),
    ),
    "TASK-STATES": (
        "states, restart, never reopened",
        (
            "test_a_closed_task_is_never_opened_again",
            "test_tasks_of_dead_processes_are_interrupted_and_those_of_living_ones_are_not",
        ),
    ),
    "FINGERPRINTS": (
        "repeats are no-ops, the same failure after a mutation is no progress",
        (
            "test_the_same_edit_again_is_a_no_op_that_counts_and_is_said",
            "test_the_same_failure_after_a_mutation_is_said_to_be_no_progress",
        ),
    ),
    "LEDGER-TAMPERING": (
        "every edit, deletion, insertion, reorder, cut and re-hash is found at its first row, without false alarm",
        (
            "test_an_edit_of_any_field_of_any_row_is_found",
            "test_a_cut_tail_is_found_at_the_first_row_that_is_gone",
            "test_an_older_copy_of_the_file_is_found",
            "test_a_chain_that_was_hashed_again_is_found_at_the_row_that_was_changed",
            "test_whoever_did_nothing_is_not_accused",
            "test_the_suite_is_as_large_as_it_is_meant_to_be",
        ),
    ),
    "LEDGER-RETENTION": (
        "old rows go behind a sealed checkpoint",
        (
            "test_rows_of_more_than_fourteen_days_go_and_the_chain_still_holds",
            "test_a_checkpoint_made_without_the_key_is_found",
        ),
    ),
    "LEDGER-WRITERS": (
        "sixteen writers, none refused",
        ("test_sixteen_processes_append_without_one_being_refused",),
    ),
    "MAP-SECTIONS": (
        "every section of the map",
        (
            "test_the_default_is_short_and_says_what_is_missing",
            "test_the_public_api_is_what_packages_offer_by_their_manifests",
        ),
    ),
    "LEFT-OUT-SAID": ("status says what is left out", ("test_status_says_what_the_index_does_not_hold",)),
    "GATE-HANDSHAKE": (
        "no mutating operation runs before an intent is selected",
        ("test_nothing_is_changed_before_the_handshake", "test_every_mutating_operation_has_a_case"),
    ),
    "GATE-SCOPE": (
        "out-of-scope writes are refused with the specification's sentence, whatever the form of the path",
        ("test_a_change_goes_from_intent_to_explanation", "test_no_form_of_a_path_leads_out_of_scope"),
    ),
    "GATE-APPROVAL": (
        "destructive calls wait for a person, whose approval binds to the exact call",
        ("test_an_approval_is_bound_to_the_exact_call", "test_an_agents_shell_is_no_person", "test_no_tool_approves"),
    ),
    "GATE-STALE": (
        "stale writes are refused and name the other writer",
        ("test_no_update_is_lost_in_any_order", "test_a_stale_hash_comes_with_the_merge_where_hunks_do_not_overlap"),
    ),
    "GATE-EXPLAIN": (
        "every decision is the same when it is made again from the ledger",
        ("test_every_decision_is_the_same_when_it_is_made_again",),
    ),
    "GATE-DEMO": ("the specification's demo script runs", ("test_the_demo_script_of_the_specification_runs",)),
    "RISK-SAFE": (
        "no dangerous command is SAFE, on the labelled set and on fuzzed ones; plain reading is",
        (
            "test_every_labelled_command_gets_its_verdict",
            "test_no_safe_command_stays_safe_when_it_is_made_dangerous",
            "test_plain_reading_is_safe_borderline_forms_included",
            "test_a_dangerous_command_leaves_a_trace_and_a_safe_one_leaves_none",
        ),
    ),
    "RISK-BAD-INPUT": ("whatever is thrown at the classifier is answered", ("test_bad_input_is_destructive",)),
    "RISK-GATE": (
        "verification waits for an accepted rule, policy files widen only when accepted",
        (
            "test_a_verification_is_held_until_an_accepted_rule_allows_it",
            "test_an_accepted_policy_widens_what_only_reads_and_what_verifies",
        ),
    ),
    "RISK-CLI": ("lines are answered one by one", ("test_lines_are_answered_one_by_one_and_bad_ones_too",)),
    "TEST-RUNNERS": (
        "settings, then markers, then languages name the runner; the project's own programs come first",
        (
            "test_a_marker_file_names_the_runner",
            "test_settings_come_before_markers",
            "test_without_a_marker_the_language_decides",
            "test_the_programs_of_the_project_come_first",
            "test_a_missing_runner_is_an_error_that_says_what_was_looked_for",
        ),
    ),
    "TEST-RUN": (
        "a run answers for every target: failures with their place, what was not run with the reason",
        (
            "test_a_failure_names_test_file_line_and_assertion",
            "test_a_hanging_test_is_ended_alone",
            "test_a_test_that_kills_its_process_is_blamed_and_the_rest_runs",
            "test_an_exit_code_of_0_does_not_hide_a_failure",
            "test_files_that_tests_leave_behind_are_told",
        ),
    ),
    "TEST-IMPACT": (
        "only tests that a change affects are run, in tiers, with the gaps",
        (
            "test_only_tests_that_a_change_affects_are_run",
            "test_why_a_test_is_affected_and_what_no_test_covers_is_told",
        ),
    ),
    "TEST-KEPT": (
        "results of runs are kept, with flaky tests and failures, and noted in the ledger",
        ("test_the_last_runs_are_kept_with_their_failures", "test_the_ledger_has_what_failed"),
    ),
    "TEST-COVERAGE": (
        "changed lines that no test ran are named; which targets ran a line is kept",
        (
            "test_changed_lines_that_no_test_runs_are_named_with_their_definitions",
            "test_which_targets_ran_a_line_is_kept",
        ),
    ),
    "CHECK": (
        "one call says whether a change is ready: lint, affected tests, what changed",
        (
            "test_a_sound_change_is_ready_in_few_words",
            "test_a_failing_test_and_a_new_finding_keep_a_change_from_being_ready",
            "test_a_change_is_written_and_checked_in_one_call",
        ),
    ),
    "DIFF-SEVERITY": (
        "a new optional parameter is not breaking; a removed, reordered or required one is",
        ("test_a_python_signature_breaks_calls_or_does_not", "test_a_change_has_its_kind_and_severity"),
    ),
    "DIFF-IDENTITY": (
        "renames and moves are recognised by structure, the most similar first; overloads do not collapse",
        (
            "test_the_most_similar_pair_is_taken_first",
            "test_a_function_moved_to_another_file_is_renamed_with_its_old_path",
            "test_overloads_of_typescript_do_not_collapse",
        ),
    ),
    "DIFF-WHOLE": (
        "the hint is computed from all changes; what was left out is said",
        (
            "test_pages_together_are_the_whole_and_every_hint_is_that_of_all",
            "test_too_many_files_are_bounded_and_said",
        ),
    ),
    "FRICTION-CANDIDATE": (
        "the same rejection three times makes one candidate; counts survive rotation",
        (
            "test_the_same_mistake_three_times_makes_a_candidate",
            "test_three_sessions_that_the_gate_refuses_alike_make_a_candidate",
            "test_no_count_is_lost_by_rotation",
        ),
    ),
    "FRICTION-LIFE": (
        "memories are promoted, approved and expire by type and time; people decide the rest",
        (
            "test_time_takes_a_pending_memory_as_far_as_its_type_allows",
            "test_two_windows_that_passed_at_once_are_two_steps_at_their_own_times",
            "test_an_exception_in_the_middle_of_promotion_leaves_nothing",
            "test_people_decide_only_where_the_life_cycle_has_that_step",
        ),
    ),
    "FRICTION-OVERRIDES": (
        "override files count only when a person accepts them; a bad one stops nothing",
        (
            "test_override_files_wait_until_a_person_accepts_them",
            "test_a_bad_override_file_is_put_aside_and_stops_nothing",
        ),
    ),
    "MEMORY-FIND": (
        "what was recorded is found by words and places; a question about something else is answered with nothing",
        (
            "test_what_was_recorded_is_found_again",
            "test_a_question_about_something_else_gets_an_empty_pack",
            "test_every_process_makes_the_same_cells_and_the_same_pack",
        ),
    ),
    "MEMORY-SEALED": (
        "a change of memory from outside is found and named",
        ("test_a_change_behind_our_back_is_found_and_named", "test_a_store_that_nobody_touched_is_sound"),
    ),
    "MEMORY-FORGET": ("what is forgotten is gone", ("test_what_is_forgotten_is_in_no_file_any_more",)),
    "MEMORY-LABELS": (
        "duplicates, contradictions and secrets are told as the labelled sets say",
        (
            "test_contradictions_are_found_and_compatible_lessons_left_alone",
            "test_duplicates_are_recognised_and_texts_with_other_facts_never_merged",
            "test_planted_secrets_are_redacted",
        ),
    ),
    "MEMORY-DURABLE": (
        "what was acknowledged survives kills and parallel writers",
        (
            "test_what_was_acknowledged_survives_a_kill_at_any_statement",
            "test_parallel_processes_lose_nothing",
        ),
    ),
    "PLAN-CODES": (
        "each case of the controller's contract gets exactly its rejection codes",
        ("test_each_case_of_the_contract_gets_exactly_its_codes", "test_a_gate_opens_once_after_everything_before_it"),
    ),
    "PLAN-ONE-FAULT": ("a plan with one fault gets one code", ("test_one_random_fault_gives_exactly_its_code",)),
    "PLAN-HOSTILE": (
        "no plan and no condition raises an exception or runs without end",
        ("test_junk_anywhere_in_a_plan_never_raises", "test_every_text_is_refused_or_decided"),
    ),
    "PLAN-OBSERVED": (
        "only evidence that was read in the same work counts",
        ("test_evidence_read_in_another_work_does_not_count",),
    ),
    "RUN-GATES": (
        "the state is asked before the budget, and the budget before the arguments",
        ("test_the_first_turn_over_the_threshold_blocks_the_run",),
    ),
    "TRACE-SURVIVES": (
        "lines keep the right intent through rewritten histories, and none gets a wrong one",
        ("test_surviving_lines_keep_their_intent",),
    ),
    "TRACE-TAMPER": (
        "every change of the trace file is found, and git's own doings are no alarm",
        (
            "test_every_tampering_is_found_with_its_first_line",
            "test_random_git_sessions_raise_no_alarm",
            "test_a_union_merge_of_two_branches_verifies",
            "test_a_clone_without_the_ledger_cannot_prove_the_tail",
        ),
    ),
    "TRACE-CARRIED": (
        "git operations carry uncommitted lines of the trace",
        ("test_uncommitted_lines_are_there_after",),
    ),
    "TRACE-OUTSIDE": (
        "changes behind our back are recorded honestly, and overlapping calls are candidates",
        (
            "test_a_change_by_a_person_between_calls_is_recorded_as_unknown",
            "test_calls_that_overlap_are_candidates",
            "test_a_command_is_traced",
        ),
    ),
    "TRACE-RANGE": (
        "exactly the changed files of a range without an intent are named",
        ("test_exactly_the_files_without_an_intent_are_named",),
    ),
    "TRACE-EXCHANGE": (
        "records and notes are exchanged without loss",
        ("test_an_export_imports_without_loss", "test_notes_follow_the_grammar_and_come_back"),
    ),
    "TRACE-DURABLE": (
        "a killed call is traced, and parallel writers leave no torn line",
        ("test_a_killed_call_is_traced_by_the_next_one", "test_parallel_writers_leave_no_torn_line"),
    ),
    "LESSONS": (
        "lessons hold nothing that agents could obey, once each, in the managed block alone",
        (
            "test_nothing_that_agents_could_obey_enters",
            "test_the_same_failure_is_one_lesson_with_a_count",
            "test_only_the_block_of_existing_files_is_written",
        ),
    ),
    "GATEWAY-DOOR": (
        "a tool of another MCP server is judged, held, recorded and traced like any other call",
        (
            "test_a_tool_is_held_whatever_it_says_of_itself",
            "test_a_held_call_passes_once_after_a_person_has_approved_it",
            "test_the_same_row_of_a_policy_decides_over_a_call_by_hook_and_by_gateway",
        ),
    ),
    "GATEWAY-PINS": (
        "nothing starts that no person has accepted, and a changed description waits for one",
        (
            "test_a_server_that_came_with_the_repository_does_not_start",
            "test_a_changed_description_is_held_until_a_person_accepts_it",
        ),
    ),
    "GATEWAY-SECRETS": (
        "secrets of an upstream reach it alone",
        (
            "test_the_secrets_of_an_upstream_are_in_no_answer_no_record_and_no_log",
            "test_an_upstream_over_http_gets_its_headers_and_nobody_else_sees_them",
        ),
    ),
    "GATEWAY-ROBUST": (
        "an upstream that misbehaves disturbs nobody",
        (
            "test_a_call_that_hangs_ends_with_its_time_limit_and_blocks_nobody",
            "test_malicious_descriptions_are_left_out_and_the_rest_is_offered",
            "test_upstreams_end_with_a_server_that_is_killed",
        ),
    ),
    "METRICS": (
        "metrics have every row of the specification's tables, with bounded labels",
        (
            "test_metrics_have_the_series_of_the_row",
            "test_every_series_has_a_help_text_and_only_labels_that_are_bounded",
        ),
    ),
    "OTEL-EXPORT": (
        "traces and metrics reach the endpoint that a person has configured, and no other",
        (
            "test_a_server_sends_its_calls_and_its_metrics",
            "test_an_endpoint_that_comes_with_the_repository_is_not_contacted",
            "test_nothing_is_sent_to_where_a_redirect_leads",
        ),
    ),
    "OTEL-PATIENCE": (
        "an endpoint that is away or hangs delays no call and costs one line in the log",
        (
            "test_calls_are_answered_while_the_endpoint_hangs",
            "test_an_endpoint_that_is_away_is_one_line_in_the_log_and_its_return_another",
            "test_what_waits_is_bounded_and_the_oldest_is_lost",
        ),
    ),
    "OTEL-DISCRETION": (
        "traces have no arguments, and paths only if a person wants it",
        ("test_arguments_are_never_sent", "test_paths_are_sent_only_if_a_person_wants_it"),
    ),
    "REST-DESCRIBED": (
        "REST describes every address, and no request that fits the description is a server error",
        (
            "test_no_request_that_fits_the_description_is_a_server_error",
            "test_the_description_has_every_operation_with_its_arguments",
        ),
    ),
    "DASHBOARD-VIEWS": (
        "every page of the dashboard shows the demo's day, fits, is accessible and needs no script",
        (
            "test_blame_names_intent_agent_and_call_of_a_line",
            "test_a_refused_plan_says_why",
            "test_every_page_can_be_read_without_javascript",
        ),
    ),
}

"""Which test shows which requirement; `test_requirements.py` fails when a named test does not exist."""

REQUIREMENTS: dict[str, tuple[str, tuple[str, ...]]] = {
    "CORE-PATHS": (
        "paths out of the tree in every form are refused",
        ("test_no_spelling_of_a_path_leads_out", "test_a_secret_file_is_kept_back"),
    ),
    "CORE-ERRORS": (
        "every error code of the specifications is in one table with unique numbers",
        ("test_every_code_of_the_specifications_is_listed", "test_names_and_numbers_are_unique"),
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
    "MCP-TOKENS": ("core stays under 2,500 tokens", ("test_core_tool_list_stays_under_2500_tokens",)),
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
    "INDEX-PER-FILE": (
        "a search in one file need not wait for others",
        ("test_a_search_in_one_file_is_answered_while_others_are_indexed",),
    ),
    "INDEX-COMPACT": ("room is given back", ("test_room_that_nobody_needs_is_given_back",)),
    "INDEX-BAD-INPUT": (
        "kills, full disks, damage, odd files and names, moving branches",
        (
            "test_builds_and_updates_that_are_killed_end_with_the_facts_of_a_cold_build",
            "test_a_full_disk_under_the_pack_is_said_and_keeps_the_old_epoch",
            "test_a_ranked_index_that_cannot_be_written_fails_no_update",
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
    "MAP-SECTIONS": (
        "every section of the map",
        ("test_the_default_is_short_and_says_what_is_missing", "test_the_public_api_is_what_is_explicitly_offered"),
    ),
    "LEFT-OUT-SAID": ("status says what is left out", ("test_status_says_what_the_index_does_not_hold",)),
}

"""Tables of the specifications as views over the event chain: `tasks`, `operations`, `invocations`, `receipts`."""

_TIME = "strftime('%Y-%m-%dT%H:%M:%fZ', {} / 1000.0, 'unixepoch')"

# A broken body must not keep the other rows from being read.
_FACTS = "CASE WHEN json_valid(body) THEN body ELSE '{}' END"

TASKS_VIEW = f"""
CREATE VIEW tasks AS
WITH marks AS (
    SELECT COALESCE(task_id, json_extract({_FACTS}, '$.task_id')) AS task_id, kind, seq, ts_ms, {_FACTS} AS facts
    FROM events WHERE kind IN ('task_opened', 'task_closed')
),
ends AS (
    SELECT task_id,
        MIN(CASE kind WHEN 'task_opened' THEN seq END) AS opened_seq,
        MAX(CASE kind WHEN 'task_closed' THEN seq END) AS closed_seq
    FROM marks WHERE task_id IS NOT NULL GROUP BY task_id
)
SELECT
    ends.task_id AS task_id,
    COALESCE(json_extract(opened.facts, '$.opened_at'), json_extract(closed.facts, '$.opened_at'),
        {_TIME.format("opened.ts_ms")}) AS opened_at,
    CASE WHEN closed.seq IS NOT NULL
        THEN COALESCE(json_extract(closed.facts, '$.closed_at'), {_TIME.format("closed.ts_ms")}) END AS closed_at,
    CASE WHEN closed.seq IS NOT NULL THEN json_extract(closed.facts, '$.state')
        ELSE COALESCE(json_extract(opened.facts, '$.state'), 'OPEN') END AS state,
    COALESCE(json_extract(opened.facts, '$.repo_snapshot.git_head'),
        json_extract(closed.facts, '$.repo_snapshot.git_head')) AS repo_head_sha,
    COALESCE(json_extract(closed.facts, '$.limits'), json_extract(opened.facts, '$.limits')) AS limits_json
FROM ends
LEFT JOIN marks AS opened ON opened.seq = ends.opened_seq
LEFT JOIN marks AS closed ON closed.seq = ends.closed_seq;
"""  # noqa: S608 - made of constants.

# Column of the specification, key in the body of a final row.
_FROM_BODY = (
    ("repo_before_hash", "repo_before"),
    ("repo_after_hash", "repo_after"),
    ("changed_paths", "changed_paths"),
    ("diff_stats", "diff_stats"),
    ("short_diff", "short_diff"),
    ("mutation_fingerprint", "mutation_fingerprint"),
    ("failure_fingerprint", "failure_fingerprint"),
    ("failure_class", "failure_class"),
    ("failing_tests", "failing_tests"),
    ("limit_triggered", "limit_triggered"),
)
_BODY_COLUMNS = ",\n    ".join(f"json_extract(facts, '$.{key}') AS {column}" for column, key in _FROM_BODY)

OPERATIONS_VIEW = f"""
CREATE VIEW operations AS
SELECT
    seq AS op_id,
    task_id,
    {_TIME.format("ts_ms")} AS timestamp,
    json_extract(facts, '$.duration_ms') AS duration_ms,
    operation AS op_type,
    kind = 'finished' AS success,
    {_BODY_COLUMNS}
FROM (
    SELECT *, {_FACTS} AS facts FROM events WHERE kind IN ('finished', 'failed', 'denied', 'held')
);
"""  # noqa: S608 - made of constants.

# Every call, and what callers and hooks say that they did: such rows are marked as claimed.
INVOCATIONS_VIEW = f"""
CREATE VIEW invocations AS
SELECT
    seq AS id,
    COALESCE(json_extract(facts, '$.session_id'), session) AS session_id,
    {_TIME.format("ts_ms")} AS ts,
    COALESCE(json_extract(facts, '$.tool_name'), operation) AS tool_name,
    COALESCE(json_extract(facts, '$.input_hash'), json_extract(facts, '$.arguments_digest'), '') AS input_hash,
    COALESCE(json_extract(facts, '$.output_hash'), '') AS output_hash,
    json_object('outcome', kind, 'claimed', COALESCE(json_extract(facts, '$.is_claimed'), 0),
        'meta', json(COALESCE(json_extract(facts, '$.meta'), '{{}}'))) AS meta_json,
    prev_hash,
    hash
FROM (
    SELECT *, {_FACTS} AS facts FROM events WHERE kind IN ('finished', 'failed', 'denied', 'held', 'invocation')
);
"""  # noqa: S608 - made of constants.

RECEIPTS_VIEW = f"""
CREATE VIEW receipts AS
SELECT
    seq AS id,
    json_extract(facts, '$.session_id') AS session_id,
    {_TIME.format("ts_ms")} AS ts,
    json_extract(facts, '$.receipt_type') AS receipt_type,
    json_extract(facts, '$.payload') AS payload_json,
    json_extract(facts, '$.payload_hash') AS payload_hash,
    json_extract(facts, '$.signature') AS signature,
    json_extract(facts, '$.public_meta') AS public_meta_json
FROM (SELECT *, {_FACTS} AS facts FROM events WHERE kind = 'receipt');
"""  # noqa: S608 - made of constants.

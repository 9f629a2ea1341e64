-- +goose Up
-- The totals of a thread are of all its runs, however old. Ids of threads are random as those of runs are (runs_run_id). The index is on
-- columns and not on the expression of a thread's id: ClickHouse rewrites session_id != '' in a statement
-- (optimize_empty_string_comparisons), and then an index on the expression does not fit. Stored rows are indexed in the background.
ALTER TABLE runs ADD INDEX IF NOT EXISTS runs_thread (session_id, conversation_id) TYPE bloom_filter(0.0001) GRANULARITY 1;
ALTER TABLE runs MATERIALIZE INDEX runs_thread SETTINGS mutations_sync = 0;

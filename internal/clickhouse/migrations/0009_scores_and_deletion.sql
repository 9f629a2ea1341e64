-- Judgements of runs and spans, by people and by programs (docs/adr/0012-scores-and-deletion.md): those that were given
-- through the API and those that came with spans. Writing one again under the same id replaces it.
-- +goose Up
-- +goose StatementBegin
CREATE TABLE IF NOT EXISTS scores
(
    project_id  UUID,
    run_id      UUID,
    score_id    UUID,
    -- When it was written, or received with its span: Unix nanoseconds.
    version     UInt64,
    deleted     UInt8,
    -- 0 where the run as a whole is judged.
    span_id     UInt64,
    name        LowCardinality(String),
    -- What the value is: number, boolean (number is 0 or 1), category (label); empty for a comment alone.
    value_kind  LowCardinality(String),
    number      Nullable(Float64),
    label       String,
    comment     String CODEC(ZSTD(3)),
    source      LowCardinality(String),
    -- Who wrote it: user or key; empty where it came with its span.
    author_kind LowCardinality(String),
    author_id   UUID,
    author_name String,
    created_at  DateTime64(9, 'UTC')
)
ENGINE = ReplacingMergeTree(version, deleted)
ORDER BY (project_id, run_id, score_id)
SETTINGS index_granularity = 1024, fsync_after_insert = 1, fsync_part_directory = 1;
-- +goose StatementEnd
-- What was received of a run up to this time (Unix nanoseconds) is deleted, and stays so when it is delivered again.
-- +goose StatementBegin
ALTER TABLE run_bounds ADD COLUMN IF NOT EXISTS deleted_at SimpleAggregateFunction(max, UInt64);
-- +goose StatementEnd

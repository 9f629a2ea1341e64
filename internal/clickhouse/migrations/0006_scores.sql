-- +goose Up
-- Scores of runs and spans, given by people and programs (docs/adr/0012-scores-and-deletion.md): those given through the API and those
-- that came with spans. Writing one again under the same id replaces it.
CREATE TABLE IF NOT EXISTS scores
(
    project_id  UUID CODEC(ZSTD(1)),
    run_id      UUID CODEC(ZSTD(1)),
    score_id    UUID CODEC(ZSTD(1)),
    -- When it was written, or received with its span, in Unix nanoseconds.
    version     UInt64 CODEC(Delta(8), ZSTD(1)),
    deleted     UInt8,
    -- 0 when the score is for the whole run.
    span_id     UInt64 CODEC(ZSTD(1)),
    name        LowCardinality(String) CODEC(ZSTD(1)),
    -- What the value is: number, boolean (number is 0 or 1), category (label); empty for a comment alone.
    value_kind  LowCardinality(String) CODEC(ZSTD(1)),
    number      Nullable(Float64) CODEC(ZSTD(1)),
    label       String CODEC(ZSTD(1)),
    comment     String CODEC(ZSTD(3)),
    source      LowCardinality(String) CODEC(ZSTD(1)),
    -- Who wrote it: user or key; empty when it came with its span.
    author_kind LowCardinality(String) CODEC(ZSTD(1)),
    author_id   UUID CODEC(ZSTD(1)),
    author_name String CODEC(ZSTD(1)),
    created_at  DateTime64(9, 'UTC') CODEC(Delta(8), ZSTD(1))
)
ENGINE = ReplacingMergeTree(version, deleted)
ORDER BY (project_id, run_id, score_id)
SETTINGS
    index_granularity = 1024,
    fsync_after_insert = 1, fsync_part_directory = 1;

-- +goose Up
-- The scores of whole runs in the order in which they were written. A score that fails its run (docs/adr/0038-failed-by-scores.md) was
-- written after the run began, so a read of a window of runs reads no older scores. The table scores is in the order of runs, which have
-- random ids. Rows of all versions stay; readers take the newest version of an id.
CREATE TABLE IF NOT EXISTS run_scores
(
    project_id UUID CODEC(ZSTD(1)),
    run_id     UUID CODEC(ZSTD(1)),
    score_id   UUID CODEC(ZSTD(1)),
    version    UInt64 CODEC(Delta(8), ZSTD(1)),
    deleted    UInt8,
    name       LowCardinality(String) CODEC(ZSTD(1)),
    value_kind LowCardinality(String) CODEC(ZSTD(1)),
    number     Nullable(Float64) CODEC(ZSTD(1)),
    label      String CODEC(ZSTD(1))
)
ENGINE = ReplacingMergeTree
PRIMARY KEY (project_id, version)
ORDER BY (project_id, version, run_id, score_id)
SETTINGS
    index_granularity = 1024,
    fsync_after_insert = 1, fsync_part_directory = 1;

-- Whoever inserts into scores inserts here, too.
CREATE MATERIALIZED VIEW IF NOT EXISTS scores_to_run_scores TO run_scores AS
SELECT project_id, run_id, score_id, version, deleted, name, value_kind, number, label FROM scores WHERE span_id = 0;

-- Rows that came in through the view meanwhile are the same.
INSERT INTO run_scores (project_id, run_id, score_id, version, deleted, name, value_kind, number, label)
SELECT project_id, run_id, score_id, version, deleted, name, value_kind, number, label FROM scores WHERE span_id = 0;

-- +goose Up
-- When the spans of a run start, found by the run's id alone: a read of one run then touches only those hours. The aggregates are exact
-- for repeated deliveries and in any order.
CREATE TABLE IF NOT EXISTS run_bounds
(
    project_id  UUID CODEC(ZSTD(1)),
    run_id      UUID CODEC(ZSTD(1)),
    first_start SimpleAggregateFunction(min, DateTime64(9, 'UTC')) CODEC(Delta(8), ZSTD(1)),
    last_start  SimpleAggregateFunction(max, DateTime64(9, 'UTC')) CODEC(Delta(8), ZSTD(1)),
    -- The smallest and the largest id of a batch with spans of the run. When both are the writer's own, no other batch has touched the
    -- run, and its totals need no read.
    first_batch SimpleAggregateFunction(min, UInt64) CODEC(ZSTD(1)),
    last_batch  SimpleAggregateFunction(max, UInt64) CODEC(ZSTD(1)),
    -- What was received of the run up to this time (Unix nanoseconds) is deleted, and stays deleted when it is delivered again
    -- (docs/adr/0012-scores-and-deletion.md).
    deleted_at  SimpleAggregateFunction(max, UInt64) CODEC(ZSTD(1)),
    -- A bit for each column that clickhouse.Absent lists, set while no span of the run has a value in it: a read of the run leaves
    -- those columns out. 0 leaves out nothing.
    absent      SimpleAggregateFunction(groupBitAnd, UInt64)
)
ENGINE = AggregatingMergeTree
ORDER BY (project_id, run_id)
SETTINGS
    -- Rows are read one by one, by their ids.
    index_granularity = 256,
    fsync_after_insert = 1, fsync_part_directory = 1;

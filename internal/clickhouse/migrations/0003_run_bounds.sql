-- +goose Up
-- Where in time a run's spans lie, found by its id alone: a read of one run touches only those hours.
-- min and max are exact under repeats and in any order. first_batch = last_batch tells the writer that no
-- other batch has touched the run, so that its totals need no read.
-- +goose StatementBegin
CREATE TABLE IF NOT EXISTS run_bounds
(
    project_id  UUID,
    run_id      UUID,
    first_start SimpleAggregateFunction(min, DateTime64(9, 'UTC')),
    last_start  SimpleAggregateFunction(max, DateTime64(9, 'UTC')),
    first_batch SimpleAggregateFunction(min, UInt64),
    last_batch  SimpleAggregateFunction(max, UInt64)
)
ENGINE = AggregatingMergeTree
ORDER BY (project_id, run_id)
SETTINGS index_granularity = 256, fsync_after_insert = 1, fsync_part_directory = 1;
-- +goose StatementEnd

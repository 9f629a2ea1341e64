-- Which columns the spans of a run leave empty, so that a read of the run leaves them out: a bit for each of those that
-- clickhouse.Absent lists, set while no span had it. What was stored before, and what an older writer stores, sets none.
-- +goose Up
-- +goose StatementBegin
ALTER TABLE run_bounds ADD COLUMN IF NOT EXISTS absent SimpleAggregateFunction(groupBitAnd, UInt64);
-- +goose StatementEnd

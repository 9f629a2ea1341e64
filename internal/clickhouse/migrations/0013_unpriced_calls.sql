-- How many calls of a run have tokens that count and no cost, so that its cost is that of the others: runmodel.Unpriced.
-- Of runs stored before it is 0, until they are derived again.
-- +goose Up
-- +goose StatementBegin
ALTER TABLE runs ADD COLUMN IF NOT EXISTS unpriced_call_count UInt64 CODEC(ZSTD(1)) AFTER cost_source;
-- +goose StatementEnd

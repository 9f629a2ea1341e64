-- When a row of a run was written, by ClickHouse's clock: what is new is found by it (runs.Watch). Rows that were there
-- before are of 1970; that is written down first, since a default counts at the time of reading where a part lacks the
-- column.
-- +goose Up
-- +goose StatementBegin
ALTER TABLE runs ADD COLUMN IF NOT EXISTS written_at DateTime64(3, 'UTC') DEFAULT toDateTime64(0, 3, 'UTC') CODEC(Delta(8), ZSTD(1));
-- +goose StatementEnd
-- +goose StatementBegin
ALTER TABLE runs MATERIALIZE COLUMN written_at SETTINGS mutations_sync = 1;
-- +goose StatementEnd
-- +goose StatementBegin
ALTER TABLE runs MODIFY COLUMN written_at DEFAULT now64(3, 'UTC');
-- +goose StatementEnd
-- +goose StatementBegin
ALTER TABLE runs ADD INDEX IF NOT EXISTS runs_written_at written_at TYPE minmax GRANULARITY 1;
-- +goose StatementEnd

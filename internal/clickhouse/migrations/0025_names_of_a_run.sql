-- The names of shared contents that a batch brings for a run stand in one row for each kind of content, in place of a row for each
-- name (docs/adr/0010-shared-contents.md). What was stored before keeps its rows.
-- +goose Up
-- +goose StatementBegin
ALTER TABLE contents ADD COLUMN IF NOT EXISTS shared_ids Array(UInt64) CODEC(ZSTD(3)) AFTER shared_tail;
-- +goose StatementEnd
-- +goose StatementBegin
ALTER TABLE contents ADD COLUMN IF NOT EXISTS shared_tails Array(UInt64) CODEC(ZSTD(3)) AFTER shared_ids;
-- +goose StatementEnd

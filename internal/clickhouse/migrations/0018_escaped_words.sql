-- Words of a span's texts that a search does not find in them, since they are JSON: what follows the n of \n, or has a letter
-- written as \u00fc (runmodel.Span.EscapedWords). Spans that are stored already keep to the words as they stand. What is searched
-- has changed, so that the index goes; where there are text indexes, Migrate makes it anew, in the background for what is stored.
-- +goose Up
-- +goose StatementBegin
ALTER TABLE spans ADD COLUMN IF NOT EXISTS escaped_words String CODEC(ZSTD(3)) AFTER tool_result;
-- +goose StatementEnd
-- +goose StatementBegin
ALTER TABLE spans DROP INDEX IF EXISTS spans_text SETTINGS mutations_sync = 1;
-- +goose StatementEnd

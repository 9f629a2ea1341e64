-- Words of a span's texts that a search does not find in them, since they are JSON: what follows the n of \n, or has a letter
-- written as \u00fc (runmodel.Span.EscapedWords). Spans that are stored already keep to the words as they stand. The index is made anew,
-- what is stored already in the background; until then a search reads its texts.
-- +goose Up
-- +goose StatementBegin
ALTER TABLE spans ADD COLUMN IF NOT EXISTS escaped_words String CODEC(ZSTD(3)) AFTER tool_result;
-- +goose StatementEnd
-- +goose StatementBegin
ALTER TABLE spans DROP INDEX IF EXISTS spans_text SETTINGS mutations_sync = 1;
-- +goose StatementEnd
-- +goose StatementBegin
ALTER TABLE spans ADD INDEX IF NOT EXISTS spans_text
    lowerUTF8(concat(name, ' ', inputs, ' ', outputs, ' ', tool_arguments, ' ', tool_result, ' ', error_message, ' ', escaped_words))
    TYPE text(tokenizer = splitByNonAlpha);
-- +goose StatementEnd
-- +goose StatementBegin
ALTER TABLE spans MATERIALIZE INDEX spans_text SETTINGS mutations_sync = 0;
-- +goose StatementEnd

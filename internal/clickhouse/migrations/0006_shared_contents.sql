-- What runs of a project and day have in common stands once (docs/adr/0010-shared-contents.md): instructions, tool
-- definitions, resources, and messages from the second run on that has them. A row of contents then names it.
-- +goose Up
-- +goose StatementBegin
CREATE TABLE IF NOT EXISTS shared_contents
(
    project_id UUID CODEC(ZSTD(1)),
    day        Date CODEC(ZSTD(1)),
    content_id UInt64 CODEC(NONE),
    shared_tail UInt64 CODEC(NONE),
    frame      String CODEC(ZSTD(3)),
    texts      Array(String) CODEC(ZSTD(3)),
    INDEX shared_contents_text lowerUTF8(arrayStringConcat(texts, ' ')) TYPE text(tokenizer = splitByNonAlpha)
)
ENGINE = ReplacingMergeTree
PARTITION BY toYYYYMMDD(day)
ORDER BY (project_id, day, content_id, shared_tail)
-- Read one by one, by their names.
SETTINGS index_granularity = 256, fsync_after_insert = 1, fsync_part_directory = 1,
    min_columns_to_activate_adaptive_write_buffer = 1;
-- +goose StatementEnd
-- +goose StatementBegin
ALTER TABLE contents ADD COLUMN IF NOT EXISTS shared_tail UInt64 CODEC(ZSTD(1)) AFTER kind;
-- +goose StatementEnd
-- A part is written through a buffer for each file, of max_compress_block_size from the start: more than a gigabyte
-- for a part of 60 columns, which counts towards the server's limit although it is hardly touched. An adaptive one
-- starts small.
-- +goose StatementBegin
ALTER TABLE spans MODIFY SETTING min_columns_to_activate_adaptive_write_buffer = 1;
-- +goose StatementEnd
-- +goose StatementBegin
ALTER TABLE contents MODIFY SETTING min_columns_to_activate_adaptive_write_buffer = 1;
-- +goose StatementEnd
-- +goose StatementBegin
ALTER TABLE runs MODIFY SETTING min_columns_to_activate_adaptive_write_buffer = 1;
-- +goose StatementEnd

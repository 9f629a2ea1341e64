-- +goose Up
-- What runs of one project and day have in common, stored once (docs/adr/0010-shared-contents.md): instructions, tool definitions,
-- resources, and messages from the second run on that has them. Rows of contents name it. Nothing is shared between projects or days,
-- so a day can be dropped without asking who refers to it.
CREATE TABLE IF NOT EXISTS shared_contents
(
    project_id UUID CODEC(ZSTD(1)),
    day        Date CODEC(ZSTD(1)),
    -- Both together are 128 bits of a SHA-256: whoever can choose what is recorded cannot make one text pass for another.
    -- Hashes do not compress.
    content_id UInt64 CODEC(NONE),
    shared_tail UInt64 CODEC(NONE),
    frame      String CODEC(ZSTD(3)),
    texts      Array(String) CODEC(ZSTD(3)),
    -- The expression is clickhouse.ContentsText.
    INDEX shared_contents_text lowerUTF8(arrayStringConcat(texts, ' ')) TYPE text(tokenizer = splitByNonAlpha)
)
ENGINE = ReplacingMergeTree
PARTITION BY toYYYYMMDD(day)
ORDER BY (project_id, day, content_id, shared_tail)
SETTINGS
    -- Rows are read one by one, by their names.
    index_granularity = 256,
    -- The reasons for these are in spans.
    fsync_after_insert = 1, fsync_part_directory = 1,
    min_columns_to_activate_adaptive_write_buffer = 1,
    min_age_to_force_merge_seconds = 21600, min_age_to_force_merge_on_partition_only = 1,
    enable_max_bytes_limit_for_min_age_to_force_merge = 1;

-- +goose Up
-- What many spans of a run repeat, stored once per run: agents send their history again at every call. A row is a message, instructions,
-- tool definitions or a resource, or it names rows of shared_contents. content_id is a hash of the content, so writing it
-- again changes nothing. Searchable strings are kept apart from the JSON around them (runmodel.Content), so that the text index has
-- no JSON keys.
CREATE TABLE IF NOT EXISTS contents
(
    project_id UUID CODEC(ZSTD(1)),
    hour       DateTime('UTC') CODEC(Delta(4), ZSTD(1)),
    run_id     UUID CODEC(ZSTD(1)),
    content_id UInt64 CODEC(ZSTD(1)),
    kind       LowCardinality(String) CODEC(ZSTD(1)),
    -- Not 0 in a row that names one row of shared_contents. Writers fill the two lists below instead.
    shared_tail UInt64 CODEC(ZSTD(1)),
    -- The rows of shared_contents that a batch brings for the run: one row of contents for each kind, instead of one for each name
    -- (docs/adr/0010-shared-contents.md).
    shared_ids  Array(UInt64) CODEC(ZSTD(3)),
    shared_tails Array(UInt64) CODEC(ZSTD(3)),
    frame      String CODEC(ZSTD(3)),
    texts      Array(String) CODEC(ZSTD(3)),
    -- The expression is clickhouse.ContentsText.
    INDEX contents_text lowerUTF8(arrayStringConcat(texts, ' ')) TYPE text(tokenizer = splitByNonAlpha)
)
ENGINE = ReplacingMergeTree
PARTITION BY toYYYYMMDD(hour)
PRIMARY KEY (project_id, hour, run_id)
-- A run's contents are one range: reading a run needs no look-up by content.
ORDER BY (project_id, hour, run_id, content_id)
SETTINGS
    index_granularity = 1024,
    fsync_after_insert = 1, fsync_part_directory = 1,
    -- Compact until the second merge.
    min_level_for_wide_part = 2,
    -- Blocks of a megabyte and more reach from one run's messages to the next one's, which repeat them.
    min_compress_block_size = 1048576, max_compress_block_size = 4194304,
    -- The reasons for these are in spans.
    min_columns_to_activate_adaptive_write_buffer = 1,
    min_age_to_force_merge_seconds = 21600, min_age_to_force_merge_on_partition_only = 1,
    enable_max_bytes_limit_for_min_age_to_force_merge = 1;

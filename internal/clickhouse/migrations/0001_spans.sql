-- +goose Up
-- One row is one received version of a span. Readers fold the versions of a span field by field (runmodel.Fold), so duplicate, late and
-- reordered deliveries change nothing: the same delivery has the same key and replaces itself, another delivery is another row
-- (docs/adr/0002-clickhouse-schema.md). '', [], 0 and 1970-01-01 mean absent: a fold skips them.
--
-- Every column is compressed with ZSTD. LZ4, the default, leaves low-cardinality strings, tokens and times twice as large.
-- Long texts have larger compressed blocks than other columns, because texts repeat from run to run. A read of one run decompresses
-- at least one block of each column, so blocks are no larger than pays off (docs/adr/0006-storing-fast.md).
CREATE TABLE IF NOT EXISTS spans
(
    project_id        UUID CODEC(ZSTD(1)),
    run_id            UUID CODEC(ZSTD(1)),
    span_id           UInt64 CODEC(ZSTD(1)),
    -- When this version was received, in Unix nanoseconds. It comes with the queue's record, so a redelivery has the same one.
    version           UInt64 CODEC(Delta(8), ZSTD(1)),
    parent_span_id    UInt64 CODEC(ZSTD(1)),
    start_time        DateTime64(9, 'UTC') CODEC(Delta(8), ZSTD(1)),
    end_time          DateTime64(9, 'UTC') CODEC(Delta(8), ZSTD(1)),
    is_run            Bool CODEC(ZSTD(1)),
    -- True for a version made of log records: it only fills what the span itself does not say (docs/adr/0008-logs-become-spans.md).
    from_log          Bool CODEC(ZSTD(1)),
    name              String CODEC(ZSTD(1)),
    kind              LowCardinality(String) CODEC(ZSTD(1)),
    operation         LowCardinality(String) CODEC(ZSTD(1)),
    status            LowCardinality(String) CODEC(ZSTD(1)),
    error_type        LowCardinality(String) CODEC(ZSTD(1)),
    error_message     String CODEC(ZSTD(3)) SETTINGS (min_compress_block_size = 262144, max_compress_block_size = 1048576),
    error_stack       String CODEC(ZSTD(3)) SETTINGS (min_compress_block_size = 262144, max_compress_block_size = 1048576),
    service_name      LowCardinality(String) CODEC(ZSTD(1)),
    scope_name        LowCardinality(String) CODEC(ZSTD(1)),
    scope_version     LowCardinality(String) CODEC(ZSTD(1)),
    dialect           LowCardinality(String) CODEC(ZSTD(1)),
    framework         LowCardinality(String) CODEC(ZSTD(1)),
    provider          LowCardinality(String) CODEC(ZSTD(1)),
    request_model     LowCardinality(String) CODEC(ZSTD(1)),
    response_model    LowCardinality(String) CODEC(ZSTD(1)),
    tool_name         LowCardinality(String) CODEC(ZSTD(1)),
    tool_call_id      String CODEC(ZSTD(1)),
    agent_name        LowCardinality(String) CODEC(ZSTD(1)),
    session_id        String CODEC(ZSTD(1)),
    conversation_id   String CODEC(ZSTD(1)),
    user_id           String CODEC(ZSTD(1)),
    environment       LowCardinality(String) CODEC(ZSTD(1)),
    release           LowCardinality(String) CODEC(ZSTD(1)),
    prompt_id         String CODEC(ZSTD(1)),
    prompt_name       LowCardinality(String) CODEC(ZSTD(1)),
    prompt_version    LowCardinality(String) CODEC(ZSTD(1)),
    tags              Array(LowCardinality(String)) CODEC(ZSTD(1)),
    finish_reasons    Array(LowCardinality(String)) CODEC(ZSTD(1)),
    metadata          Map(LowCardinality(String), String) CODEC(ZSTD(1)),
    -- Counts, money and time to first token are Nullable, because 0 is a value of theirs.
    input_tokens      Nullable(Int64) CODEC(ZSTD(1)),
    output_tokens     Nullable(Int64) CODEC(ZSTD(1)),
    cache_read_tokens Nullable(Int64) CODEC(ZSTD(1)),
    cache_write_tokens Nullable(Int64) CODEC(ZSTD(1)),
    reasoning_tokens  Nullable(Int64) CODEC(ZSTD(1)),
    cost_usd          Nullable(Float64) CODEC(ZSTD(1)),
    -- Whether the client sent the cost or the product computed it.
    cost_source       LowCardinality(String) CODEC(ZSTD(1)),
    -- What of the span counts towards its run, where the rule over all spans cannot tell (docs/adr/0007-one-counting-rule.md).
    counting          LowCardinality(String) CODEC(ZSTD(1)),
    -- Which prices a computed cost used: the day of the price table, or `project:` and the revision of the project's own price.
    price_version     LowCardinality(String) CODEC(ZSTD(1)),
    -- Seconds, as gen_ai.response.time_to_first_chunk.
    time_to_first_token Nullable(Float64) CODEC(ZSTD(1)),
    -- Previews repeat each other more than whole texts do, so their blocks are larger.
    input_preview     String CODEC(ZSTD(3)) SETTINGS (min_compress_block_size = 131072, max_compress_block_size = 1048576),
    output_preview    String CODEC(ZSTD(3)) SETTINGS (min_compress_block_size = 131072, max_compress_block_size = 1048576),
    inputs            String CODEC(ZSTD(3)) SETTINGS (min_compress_block_size = 65536, max_compress_block_size = 1048576),
    outputs           String CODEC(ZSTD(3)) SETTINGS (min_compress_block_size = 65536, max_compress_block_size = 1048576),
    tool_arguments    String CODEC(ZSTD(3)) SETTINGS (min_compress_block_size = 65536, max_compress_block_size = 1048576),
    tool_result       String CODEC(ZSTD(3)) SETTINGS (min_compress_block_size = 65536, max_compress_block_size = 1048576),
    -- Words that a search does not find in the texts above because these are JSON: words after \n, words with \u00fc in them
    -- (runmodel.Span.EscapedWords). Only searches read it.
    escaped_words     String CODEC(ZSTD(3)),
    -- Messages, instructions, tool definitions and resources are stored once per run in contents; these are their ids.
    input_message_ids  Array(UInt64) CODEC(ZSTD(3)),
    output_message_ids Array(UInt64) CODEC(ZSTD(3)),
    instructions_id   UInt64 CODEC(ZSTD(3)),
    tool_definitions_id UInt64 CODEC(ZSTD(3)),
    resource_id       UInt64 CODEC(ZSTD(3)),
    -- Attributes that have no column: strings as they are, other values as JSON text.
    attributes        Map(LowCardinality(String), String) CODEC(ZSTD(3)),
    attributes_json   Map(LowCardinality(String), String) CODEC(ZSTD(3)),
    events            String CODEC(ZSTD(3)) SETTINGS (min_compress_block_size = 262144, max_compress_block_size = 1048576),
    links             String CODEC(ZSTD(3)) SETTINGS (min_compress_block_size = 262144, max_compress_block_size = 1048576),
    -- The expression is clickhouse.SpansText: ClickHouse uses an index only for a query that has the same expression.
    INDEX spans_text lowerUTF8(concat(name, ' ', inputs, ' ', outputs, ' ', tool_arguments, ' ', tool_result, ' ', error_message, ' ', escaped_words))
        TYPE text(tokenizer = splitByNonAlpha)
)
ENGINE = ReplacingMergeTree
PARTITION BY toYYYYMMDD(start_time)
-- The hour comes before the run, so that a list of the newest runs reads a few hours only.
PRIMARY KEY (project_id, toStartOfHour(start_time), run_id)
-- A run's spans are sorted by start: a model call repeats what the call before it sent, so that neighbouring rows compress well.
ORDER BY (project_id, toStartOfHour(start_time), run_id, start_time, span_id, version)
SETTINGS
    index_granularity = 2048,
    -- An insert that was acknowledged survives a power cut.
    fsync_after_insert = 1, fsync_part_directory = 1,
    -- A new part is compact: one file instead of two for each column. Merges of 10 MB and more make wide parts and work column by
    -- column, which takes a third less processor time than row by row.
    min_level_for_wide_part = 1, vertical_merge_algorithm_min_rows_to_activate = 1,
    -- For columns without block sizes of their own. 16 KiB is one granule of ids or times.
    min_compress_block_size = 16384, max_compress_block_size = 1048576,
    -- Write buffers start small. Otherwise each column allocates max_compress_block_size at once: a gigabyte for a part of this table,
    -- hardly used but counted against the server's memory limit.
    min_columns_to_activate_adaptive_write_buffer = 1,
    -- A day without writes for six hours is merged into one part. Parts too unequal in size to be merged otherwise stay apart, and
    -- every read has to open each; a part that was never merged has no text index at all. A day above the server's largest merge
    -- (150 GB) stays as it is, because late spans would cause it to be rewritten up to four times a day.
    min_age_to_force_merge_seconds = 21600, min_age_to_force_merge_on_partition_only = 1,
    enable_max_bytes_limit_for_min_age_to_force_merge = 1;

-- +goose Up
-- One row is one received version of a span. Readers fold the versions of a span field by field
-- (runmodel.Fold), so a duplicate, late or reordered delivery changes nothing: the same delivery has the
-- same key and is replaced by itself, another one is another row. See docs/adr/0002-clickhouse-schema.md.
-- +goose StatementBegin
CREATE TABLE IF NOT EXISTS spans
(
    project_id        UUID CODEC(ZSTD(1)),
    run_id            UUID CODEC(ZSTD(1)),
    span_id           UInt64 CODEC(ZSTD(1)),
    -- When the version was received: Unix nanoseconds, stamped from the queue's record.
    version           UInt64 CODEC(Delta(8), ZSTD(1)),
    parent_span_id    UInt64 CODEC(ZSTD(1)),
    start_time        DateTime64(9, 'UTC') CODEC(Delta(8), ZSTD(1)),
    -- 1970-01-01 where absent; likewise '' and [] in the columns below, which is what a fold skips.
    end_time          DateTime64(9, 'UTC') CODEC(Delta(8), ZSTD(1)),
    is_run            Bool,
    name              String CODEC(ZSTD(1)),
    kind              LowCardinality(String),
    operation         LowCardinality(String),
    status            LowCardinality(String),
    error_type        LowCardinality(String),
    error_message     String CODEC(ZSTD(3)),
    error_stack       String CODEC(ZSTD(3)),
    service_name      LowCardinality(String),
    scope_name        LowCardinality(String),
    scope_version     LowCardinality(String),
    dialect           LowCardinality(String),
    framework         LowCardinality(String),
    provider          LowCardinality(String),
    request_model     LowCardinality(String),
    response_model    LowCardinality(String),
    tool_name         LowCardinality(String),
    tool_call_id      String CODEC(ZSTD(1)),
    agent_name        LowCardinality(String),
    session_id        String CODEC(ZSTD(1)),
    conversation_id   String CODEC(ZSTD(1)),
    user_id           String CODEC(ZSTD(1)),
    environment       LowCardinality(String),
    release           LowCardinality(String),
    prompt_id         String CODEC(ZSTD(1)),
    prompt_name       LowCardinality(String),
    prompt_version    LowCardinality(String),
    tags              Array(LowCardinality(String)),
    finish_reasons    Array(LowCardinality(String)),
    metadata          Map(LowCardinality(String), String) CODEC(ZSTD(1)),
    input_tokens      Nullable(Int64) CODEC(ZSTD(1)),
    output_tokens     Nullable(Int64) CODEC(ZSTD(1)),
    cache_read_tokens Nullable(Int64) CODEC(ZSTD(1)),
    cache_write_tokens Nullable(Int64) CODEC(ZSTD(1)),
    reasoning_tokens  Nullable(Int64) CODEC(ZSTD(1)),
    cost_usd          Nullable(Float64) CODEC(ZSTD(1)),
    cost_source       LowCardinality(String),
    -- Seconds, as gen_ai.response.time_to_first_chunk.
    time_to_first_token Nullable(Float64) CODEC(ZSTD(1)),
    input_preview     String CODEC(ZSTD(3)),
    output_preview    String CODEC(ZSTD(3)),
    inputs            String CODEC(ZSTD(3)),
    outputs           String CODEC(ZSTD(3)),
    tool_arguments    String CODEC(ZSTD(3)),
    tool_result       String CODEC(ZSTD(3)),
    -- Messages, instructions, tool definitions and resources stand once per run in contents.
    input_message_ids  Array(UInt64) CODEC(ZSTD(3)),
    output_message_ids Array(UInt64) CODEC(ZSTD(3)),
    instructions_id   UInt64 CODEC(ZSTD(3)),
    tool_definitions_id UInt64 CODEC(ZSTD(3)),
    resource_id       UInt64 CODEC(ZSTD(3)),
    -- What has no column: strings as they are, other values as JSON text.
    attributes        Map(LowCardinality(String), String) CODEC(ZSTD(3)),
    attributes_json   Map(LowCardinality(String), String) CODEC(ZSTD(3)),
    events            String CODEC(ZSTD(3)),
    links             String CODEC(ZSTD(3)),
    INDEX spans_text lowerUTF8(concat(name, ' ', inputs, ' ', outputs, ' ', tool_arguments, ' ', tool_result, ' ', error_message))
        TYPE text(tokenizer = splitByNonAlpha)
)
ENGINE = ReplacingMergeTree
PARTITION BY toYYYYMMDD(start_time)
PRIMARY KEY (project_id, toStartOfHour(start_time), run_id)
ORDER BY (project_id, toStartOfHour(start_time), run_id, span_id, version)
SETTINGS index_granularity = 2048, fsync_after_insert = 1, fsync_part_directory = 1;
-- +goose StatementEnd

-- +goose Up
-- One narrow row a run, for lists. It is derived from the run's distinct spans whenever a batch touched it.
-- version is the number of span versions it was derived from, so the row that has seen more wins. When a
-- run's start moves to another hour, the row under the old hour is written again with deleted = 1.
-- +goose StatementBegin
CREATE TABLE IF NOT EXISTS runs
(
    project_id      UUID CODEC(ZSTD(1)),
    run_id          UUID CODEC(ZSTD(1)),
    version         UInt64 CODEC(ZSTD(1)),
    deleted         UInt8,
    start_time      DateTime64(9, 'UTC') CODEC(Delta(8), ZSTD(1)),
    end_time        DateTime64(9, 'UTC') CODEC(Delta(8), ZSTD(1)),
    first_received  DateTime64(9, 'UTC') CODEC(Delta(8), ZSTD(1)),
    root_span_id    UInt64 CODEC(ZSTD(1)),
    name            String CODEC(ZSTD(1)),
    kind            LowCardinality(String),
    status          LowCardinality(String),
    error_type      LowCardinality(String),
    error_message   String CODEC(ZSTD(1)),
    input_preview   String CODEC(ZSTD(3)),
    output_preview  String CODEC(ZSTD(3)),
    session_id      String CODEC(ZSTD(1)),
    conversation_id String CODEC(ZSTD(1)),
    user_id         String CODEC(ZSTD(1)),
    agent_name      LowCardinality(String),
    environment     LowCardinality(String),
    release         LowCardinality(String),
    prompt_id       String CODEC(ZSTD(1)),
    prompt_name     LowCardinality(String),
    prompt_version  LowCardinality(String),
    tags            Array(LowCardinality(String)),
    metadata        Map(LowCardinality(String), String) CODEC(ZSTD(1)),
    models          Array(LowCardinality(String)),
    input_tokens    Nullable(Int64),
    output_tokens   Nullable(Int64),
    cache_read_tokens Nullable(Int64),
    cache_write_tokens Nullable(Int64),
    reasoning_tokens Nullable(Int64),
    cost_usd        Nullable(Float64),
    cost_source     LowCardinality(String),
    span_count      UInt64 CODEC(ZSTD(1)),
    error_count     UInt64 CODEC(ZSTD(1)),
    llm_call_count  UInt64 CODEC(ZSTD(1)),
    tool_call_count UInt64 CODEC(ZSTD(1))
)
ENGINE = ReplacingMergeTree(version, deleted)
PARTITION BY toYYYYMMDD(start_time)
PRIMARY KEY (project_id, toStartOfHour(start_time))
ORDER BY (project_id, toStartOfHour(start_time), run_id)
SETTINGS index_granularity = 1024, fsync_after_insert = 1, fsync_part_directory = 1;
-- +goose StatementEnd

-- +goose Up
-- One narrow row for each run, for lists. It is derived from the run's distinct spans whenever a batch touches the run. When a run's
-- start moves to another hour, the row of the old hour is written again with deleted = 1.
CREATE TABLE IF NOT EXISTS runs
(
    project_id      UUID CODEC(ZSTD(1)),
    run_id          UUID CODEC(ZSTD(1)),
    -- How many versions of spans the row was derived from: of two rows the one that has seen more wins. After a deletion it counts on
    -- from the time of the deletion.
    version         UInt64 CODEC(ZSTD(1)),
    deleted         UInt8,
    start_time      DateTime64(9, 'UTC') CODEC(Delta(8), ZSTD(1)),
    end_time        DateTime64(9, 'UTC') CODEC(Delta(8), ZSTD(1)),
    first_received  DateTime64(9, 'UTC') CODEC(Delta(8), ZSTD(1)),
    root_span_id    UInt64 CODEC(ZSTD(1)),
    name            String CODEC(ZSTD(1)),
    kind            LowCardinality(String) CODEC(ZSTD(1)),
    status          LowCardinality(String) CODEC(ZSTD(1)),
    error_type      LowCardinality(String) CODEC(ZSTD(1)),
    error_message   String CODEC(ZSTD(1)),
    input_preview   String CODEC(ZSTD(3)),
    output_preview  String CODEC(ZSTD(3)),
    session_id      String CODEC(ZSTD(1)),
    conversation_id String CODEC(ZSTD(1)),
    user_id         String CODEC(ZSTD(1)),
    agent_name      LowCardinality(String) CODEC(ZSTD(1)),
    environment     LowCardinality(String) CODEC(ZSTD(1)),
    release         LowCardinality(String) CODEC(ZSTD(1)),
    prompt_id       String CODEC(ZSTD(1)),
    prompt_name     LowCardinality(String) CODEC(ZSTD(1)),
    prompt_version  LowCardinality(String) CODEC(ZSTD(1)),
    tags            Array(LowCardinality(String)) CODEC(ZSTD(1)),
    metadata        Map(LowCardinality(String), String) CODEC(ZSTD(1)),
    models          Array(LowCardinality(String)) CODEC(ZSTD(1)),
    input_tokens    Nullable(Int64) CODEC(ZSTD(1)),
    output_tokens   Nullable(Int64) CODEC(ZSTD(1)),
    cache_read_tokens Nullable(Int64) CODEC(ZSTD(1)),
    cache_write_tokens Nullable(Int64) CODEC(ZSTD(1)),
    reasoning_tokens Nullable(Int64) CODEC(ZSTD(1)),
    cost_usd        Nullable(Float64) CODEC(ZSTD(1)),
    cost_source     LowCardinality(String) CODEC(ZSTD(1)),
    -- How many calls have tokens that count but no cost: cost_usd is that of the others (runmodel.Unpriced).
    unpriced_call_count UInt64 CODEC(ZSTD(1)),
    span_count      UInt64 CODEC(ZSTD(1)),
    error_count     UInt64 CODEC(ZSTD(1)),
    llm_call_count  UInt64 CODEC(ZSTD(1)),
    tool_call_count UInt64 CODEC(ZSTD(1)),
    -- The names of the tools that were called.
    tools           Array(LowCardinality(String)) CODEC(ZSTD(1)),
    -- How a run failed (docs/adr/0013-failures.md): runs that failed alike have the same fingerprint; the other columns describe the
    -- failing span. Empty for a run that did not fail.
    fingerprint     LowCardinality(String) CODEC(ZSTD(1)),
    failure_class   LowCardinality(String) CODEC(ZSTD(1)),
    failing_span_id UInt64 CODEC(ZSTD(1)),
    failing_kind    LowCardinality(String) CODEC(ZSTD(1)),
    failing_name    LowCardinality(String) CODEC(ZSTD(1)),
    failing_type    LowCardinality(String) CODEC(ZSTD(1)),
    failing_template String CODEC(ZSTD(1)),
    -- When the row was written, by ClickHouse's clock: runs.Watch finds new rows by it (docs/adr/0011-what-is-new.md).
    written_at      DateTime64(3, 'UTC') DEFAULT now64(3, 'UTC') CODEC(Delta(8), ZSTD(1)),
    INDEX runs_written_at written_at TYPE minmax GRANULARITY 1,
    -- A search among spans looks for hundreds of run ids, which are random: any granule may have any. With one false positive in a
    -- hundred no granule would be skipped; one in ten thousand takes 2.4 bytes for each run.
    INDEX runs_run_id run_id TYPE bloom_filter(0.0001) GRANULARITY 1
)
ENGINE = ReplacingMergeTree(version, deleted)
PARTITION BY toYYYYMMDD(start_time)
PRIMARY KEY (project_id, toStartOfHour(start_time))
ORDER BY (project_id, toStartOfHour(start_time), run_id)
SETTINGS
    index_granularity = 1024,
    -- The reasons for these are in spans.
    fsync_after_insert = 1, fsync_part_directory = 1,
    min_columns_to_activate_adaptive_write_buffer = 1,
    min_age_to_force_merge_seconds = 21600, min_age_to_force_merge_on_partition_only = 1,
    enable_max_bytes_limit_for_min_age_to_force_merge = 1;

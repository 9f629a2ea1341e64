-- +goose Up
-- Log records that name a call of their conversation and no span (docs/adr/0008-logs-become-spans.md). The exporter moves each to the run
-- of its call when it has both, and leaves a row without traces, which wins over repeated deliveries. What finds no call in a week is
-- dropped.
CREATE TABLE IF NOT EXISTS waiting_records
(
    project_id   UUID CODEC(ZSTD(1)),
    conversation String CODEC(ZSTD(1)),
    at           DateTime64(9, 'UTC') CODEC(Delta(8), ZSTD(1)),
    record_id    UInt64 CODEC(ZSTD(1)),
    placed       UInt8,
    traces       String CODEC(ZSTD(3)),
    bytes        UInt32 MATERIALIZED length(traces) CODEC(ZSTD(1)),
    -- By ClickHouse's clock: at is the client's, which may import what is old.
    written_at   DateTime('UTC') DEFAULT now('UTC') CODEC(Delta(4), ZSTD(1))
)
ENGINE = ReplacingMergeTree(placed)
PARTITION BY toYYYYMMDD(at)
ORDER BY (project_id, conversation, at, record_id)
TTL written_at + INTERVAL 7 DAY
SETTINGS index_granularity = 1024, fsync_after_insert = 1, fsync_part_directory = 1;

-- +goose Up
-- What many spans of a run repeat, once per run: agents resend their history at every step. content_id is
-- the hash of the content, so writing it again changes nothing. The searchable strings stand apart from
-- the JSON frame that held them (runmodel.Content), which keeps the frame's keys out of the text index.
-- +goose StatementBegin
CREATE TABLE IF NOT EXISTS contents
(
    project_id UUID CODEC(ZSTD(1)),
    hour       DateTime('UTC') CODEC(Delta(4), ZSTD(1)),
    run_id     UUID CODEC(ZSTD(1)),
    content_id UInt64 CODEC(ZSTD(1)),
    kind       LowCardinality(String),
    frame      String CODEC(ZSTD(3)),
    texts      Array(String) CODEC(ZSTD(3)),
    INDEX contents_text lowerUTF8(arrayStringConcat(texts, ' ')) TYPE text(tokenizer = splitByNonAlpha)
)
ENGINE = ReplacingMergeTree
PARTITION BY toYYYYMMDD(hour)
PRIMARY KEY (project_id, hour, run_id)
ORDER BY (project_id, hour, run_id, content_id)
SETTINGS index_granularity = 1024, fsync_after_insert = 1, fsync_part_directory = 1;
-- +goose StatementEnd

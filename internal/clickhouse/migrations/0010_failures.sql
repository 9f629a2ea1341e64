-- How a run failed (docs/adr/0013-failures.md): the fingerprint by which runs that failed alike are known, and the step at which
-- it failed. Empty where a run did not fail, and in rows that were derived before: looptrace derive writes those anew.
-- +goose Up
-- +goose StatementBegin
ALTER TABLE runs
    ADD COLUMN IF NOT EXISTS tools Array(LowCardinality(String)),
    ADD COLUMN IF NOT EXISTS fingerprint LowCardinality(String),
    ADD COLUMN IF NOT EXISTS failure_class LowCardinality(String),
    ADD COLUMN IF NOT EXISTS failing_span_id UInt64,
    ADD COLUMN IF NOT EXISTS failing_kind LowCardinality(String),
    ADD COLUMN IF NOT EXISTS failing_name LowCardinality(String),
    ADD COLUMN IF NOT EXISTS failing_type LowCardinality(String),
    ADD COLUMN IF NOT EXISTS failing_template String CODEC(ZSTD(1));
-- +goose StatementEnd

-- Which granules have a run, of those that a search found among the spans: ids are random, so that every granule may have any.
-- With hundreds of ids to look for, one in a hundred that seems to be there by chance would leave nothing out; one in ten
-- thousand takes 2.4 bytes a run. What is stored already is indexed in the background.
-- +goose Up
-- +goose StatementBegin
ALTER TABLE runs ADD INDEX IF NOT EXISTS runs_run_id run_id TYPE bloom_filter(0.0001) GRANULARITY 1;
-- +goose StatementEnd
-- +goose StatementBegin
ALTER TABLE runs MATERIALIZE INDEX runs_run_id SETTINGS mutations_sync = 0;
-- +goose StatementEnd

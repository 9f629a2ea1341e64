-- By which prices a span's cost was computed: the day of the price table, or `project:` and the revision of a project's
-- own price. Empty where the client sent the cost, where there is none, and in what was stored before.
-- +goose Up
-- +goose StatementBegin
ALTER TABLE spans ADD COLUMN IF NOT EXISTS price_version LowCardinality(String) AFTER cost_source;
-- +goose StatementEnd

-- What of a span counts towards its run, where the rule over all its spans cannot tell: runmodel.Span.Counting
-- (docs/adr/0007-one-counting-rule.md).
-- +goose Up
-- +goose StatementBegin
ALTER TABLE spans ADD COLUMN IF NOT EXISTS counting LowCardinality(String) AFTER cost_source;
-- +goose StatementEnd
-- A version that was made of log records: it fills what the span itself does not say (docs/adr/0008-logs-become-spans.md).
-- +goose StatementBegin
ALTER TABLE spans ADD COLUMN IF NOT EXISTS from_log Bool AFTER is_run;
-- +goose StatementEnd

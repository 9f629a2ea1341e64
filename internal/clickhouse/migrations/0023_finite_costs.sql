-- A run adds up to no more than a trillion dollars (runmodel.Totals). Rows from before may have more, or infinity, which no
-- answer in JSON can have. Parts that have none are not written again.
-- +goose Up
-- +goose StatementBegin
ALTER TABLE runs UPDATE cost_usd = 1e12 WHERE cost_usd > 1e12 SETTINGS mutations_sync = 1;
-- +goose StatementEnd

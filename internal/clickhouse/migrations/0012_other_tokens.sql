-- +goose Up
-- Tokens of a total that are neither input nor output, as far as is known (runmodel.Span.OtherTokens).
ALTER TABLE spans ADD COLUMN IF NOT EXISTS other_tokens Nullable(Int64) CODEC(ZSTD(1)) AFTER reasoning_tokens;
ALTER TABLE runs ADD COLUMN IF NOT EXISTS other_tokens Nullable(Int64) CODEC(ZSTD(1)) AFTER reasoning_tokens;

-- +goose Up
-- The share of traces that samplers keep like this one, from the trace state of its spans: totals say of what sample they are. Null: it
-- stands for itself, or was stored before.
ALTER TABLE runs ADD COLUMN IF NOT EXISTS sample_share Nullable(Float64) CODEC(ZSTD(1)) AFTER replayability;

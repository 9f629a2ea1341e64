-- +goose Up
-- Whether there is a result. Totals need only that, and results are wide.
ALTER TABLE spans ADD COLUMN IF NOT EXISTS has_tool_result Bool MATERIALIZED notEmpty(tool_result) CODEC(ZSTD(1)) AFTER tool_result;
-- How far the run can be replayed (runmodel.Run.Replayability). Empty in rows written before this column existed: unknown.
ALTER TABLE runs ADD COLUMN IF NOT EXISTS replayability LowCardinality(String) CODEC(ZSTD(1)) AFTER source;

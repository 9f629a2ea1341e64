-- +goose Up
-- What the signals of a run are derived from, instead of arguments, results and answers, which are wide (runmodel.Span.Summarize). The
-- defaults hold for rows that were written before: their texts are taken as they are.
ALTER TABLE spans
    ADD COLUMN IF NOT EXISTS call_hash UInt64 DEFAULT if(empty(tool_arguments), 0, greatest(xxHash64(tool_arguments), 1)) CODEC(ZSTD(1)) AFTER has_tool_result,
    ADD COLUMN IF NOT EXISTS result_hash UInt64 DEFAULT if(empty(tool_result), 0, greatest(xxHash64(tool_result), 1)) CODEC(ZSTD(1)) AFTER call_hash,
    ADD COLUMN IF NOT EXISTS said LowCardinality(String) CODEC(ZSTD(1)) AFTER result_hash,
    ADD COLUMN IF NOT EXISTS side_effects LowCardinality(String) CODEC(ZSTD(1)) AFTER said;
-- The signals of a run (runmodel.RunSignals): parallel lists. The version is 0 in rows written before these columns existed: unknown.
-- failing_effects says whether the failing step writes or reads.
ALTER TABLE runs
    ADD COLUMN IF NOT EXISTS failing_effects LowCardinality(String) CODEC(ZSTD(1)) AFTER failing_name,
    ADD COLUMN IF NOT EXISTS signals Array(LowCardinality(String)) CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS signal_span_ids Array(UInt64) CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS signal_kinds Array(LowCardinality(String)) CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS signal_names Array(LowCardinality(String)) CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS signal_effects Array(LowCardinality(String)) CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS signal_fingerprints Array(String) CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS signals_unknown Array(LowCardinality(String)) CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS signals_version UInt8 CODEC(ZSTD(1));

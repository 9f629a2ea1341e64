-- +goose Up
ALTER TABLE spans
    -- A hash of the provider's id of the response, 0 for none: libraries that record the same call share it.
    ADD COLUMN IF NOT EXISTS response_hash UInt32 CODEC(ZSTD(1)) AFTER response_model,
    -- True if the output preview names tool calls: the call is no answer of its run.
    ADD COLUMN IF NOT EXISTS output_calls Bool CODEC(ZSTD(1)) AFTER output_preview;
-- Writers fill the lists of shared rows instead.
ALTER TABLE contents DROP COLUMN IF EXISTS shared_tail;

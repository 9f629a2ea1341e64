-- +goose Up
-- The ids of the texts of a call's system instructions and of its first message, if that is by the system (runmodel.SystemTextID), 0 for
-- none. They recognize a prompt that the call does not name.
ALTER TABLE spans
    ADD COLUMN IF NOT EXISTS instructions_text_id UInt64 CODEC(ZSTD(1)) AFTER instructions_id,
    ADD COLUMN IF NOT EXISTS system_message_text_id UInt64 CODEC(ZSTD(1)) AFTER instructions_text_id;
-- The prompts that spans of the run name: the elements of the three lists belong together. In rows written before these columns existed,
-- it is the prompt of the root. system_text_ids are those of the model calls that name no prompt.
ALTER TABLE runs
    ADD COLUMN IF NOT EXISTS prompt_ids Array(String)
        DEFAULT if(length(prompt_id) + length(prompt_name) + length(prompt_version) BETWEEN 1 AND 8192, [prompt_id], []) CODEC(ZSTD(1)) AFTER prompt_version,
    ADD COLUMN IF NOT EXISTS prompt_names Array(LowCardinality(String))
        DEFAULT if(length(prompt_id) + length(prompt_name) + length(prompt_version) BETWEEN 1 AND 8192, [prompt_name], []) CODEC(ZSTD(1)) AFTER prompt_ids,
    ADD COLUMN IF NOT EXISTS prompt_versions Array(LowCardinality(String))
        DEFAULT if(length(prompt_id) + length(prompt_name) + length(prompt_version) BETWEEN 1 AND 8192, [prompt_version], []) CODEC(ZSTD(1)) AFTER prompt_names,
    ADD COLUMN IF NOT EXISTS system_text_ids Array(UInt64) CODEC(ZSTD(1)) AFTER prompt_versions;

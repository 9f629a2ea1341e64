-- +goose Up
-- What a call or an agent says of what makes the agent (runmodel.Span.AgentParts): hashes of instructions and tool definitions, parameters.
ALTER TABLE spans ADD COLUMN IF NOT EXISTS agent_parts Map(LowCardinality(String), String) CODEC(ZSTD(1)) AFTER tool_definitions_id;
-- A hash of what makes the run's agent, and its parts (runmodel.Run.AgentRelease). Empty in rows written before these columns existed.
ALTER TABLE runs
    ADD COLUMN IF NOT EXISTS agent_release LowCardinality(String) CODEC(ZSTD(1)) AFTER release,
    ADD COLUMN IF NOT EXISTS agent_parts Map(LowCardinality(String), String) CODEC(ZSTD(1)) AFTER agent_release;

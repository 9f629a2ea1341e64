-- +goose Up
-- What made the run (runmodel.KeySource), as the span states it: empty if it does not.
ALTER TABLE spans ADD COLUMN IF NOT EXISTS source LowCardinality(String) CODEC(ZSTD(1)) AFTER prompt_version;
-- What made the run (runmodel.Run.Source). Lists leave out all but user. Rows written before this column existed are of the user.
ALTER TABLE runs ADD COLUMN IF NOT EXISTS source LowCardinality(String) DEFAULT 'user' CODEC(ZSTD(1)) AFTER genai;

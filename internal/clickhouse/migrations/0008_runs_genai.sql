-- +goose Up
-- Whether any span of the run is GenAI (runmodel.Span.IsGenAI). Lists leave out runs without one, such as health checks. In rows written
-- before this column existed, only a run without any GenAI span has the kind span.
ALTER TABLE runs ADD COLUMN IF NOT EXISTS genai Bool DEFAULT kind != 'span' CODEC(ZSTD(1)) AFTER tools;

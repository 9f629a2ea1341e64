-- +goose Up
-- Whether any span of the run is GenAI (runmodel.Span.IsGenAI). Lists leave out runs without one, such as health checks. In rows written
-- before this column existed, a run with the kind span has no GenAI span, except perhaps one with messages only.
ALTER TABLE runs ADD COLUMN IF NOT EXISTS genai Bool DEFAULT kind != 'span' OR input_preview != '' OR output_preview != '' CODEC(ZSTD(1)) AFTER tools;

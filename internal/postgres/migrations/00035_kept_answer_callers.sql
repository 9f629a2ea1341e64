-- +goose Up

-- Whose answer it is, so that one caller's answers are bounded. Answers from before have none.
ALTER TABLE kept_answers ADD COLUMN caller text;
CREATE INDEX kept_answers_caller_idx ON kept_answers (caller, expires_at DESC);

-- +goose Up

-- Whether the recorded run that an output is of failed, by its status or by a score, when the evaluation was made.
ALTER TABLE evaluation_outputs ADD COLUMN run_failed boolean NOT NULL DEFAULT false;

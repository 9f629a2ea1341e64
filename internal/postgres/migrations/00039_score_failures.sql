-- +goose Up

-- Which scores fail the runs of a project, by the name of the score: a list of {name, when, bound, categories}. A name that is not in it is
-- left to the rule for all.
ALTER TABLE projects ADD COLUMN score_failures jsonb NOT NULL DEFAULT '[]';

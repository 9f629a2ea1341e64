-- +goose Up

-- A project with the samples that Looptrace loads, which is removed with one click. A workspace has at most one.
ALTER TABLE projects ADD COLUMN sample boolean NOT NULL DEFAULT false;
CREATE UNIQUE INDEX projects_sample_key ON projects (workspace_id) WHERE sample;

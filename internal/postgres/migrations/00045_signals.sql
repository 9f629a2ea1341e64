-- +goose Up

-- The signals of runs that a project does not want: names of runmodel.AllSignals, sorted.
ALTER TABLE projects ADD COLUMN signals_off text[] NOT NULL DEFAULT '{}';

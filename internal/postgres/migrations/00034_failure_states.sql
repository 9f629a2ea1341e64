-- +goose Up

-- What people decided about groups of failed runs, which ClickHouse has: a group is known by its fingerprint. A group without a row is open.
CREATE TABLE failure_states (
    project_id     uuid        NOT NULL REFERENCES projects ON DELETE CASCADE,
    fingerprint    text        NOT NULL CHECK (octet_length(fingerprint) BETWEEN 1 AND 100),
    state          text        NOT NULL CHECK (state IN ('open', 'resolved', 'muted')),
    note           text        CHECK (length(note) BETWEEN 1 AND 500),
    -- When a muted group is open again: at a time, or when so many runs of it have started since changed_at. Never, if both are null.
    until          timestamptz,
    more_runs      integer     CHECK (more_runs > 0),
    -- Both are null for a user who was deleted.
    changed_by     uuid        REFERENCES users ON DELETE SET NULL,
    changed_by_key text,
    changed_at     timestamptz NOT NULL,
    revision       integer     NOT NULL CHECK (revision > 0), -- counts the decisions
    PRIMARY KEY (project_id, fingerprint),
    CONSTRAINT failure_states_end_check CHECK (
        CASE WHEN state = 'muted' THEN until IS NULL OR more_runs IS NULL ELSE until IS NULL AND more_runs IS NULL END)
);
CREATE INDEX failure_states_changed_by_idx ON failure_states (changed_by);

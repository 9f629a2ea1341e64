-- +goose Up

-- What people learnt about groups of failed runs, which ClickHouse has: a group is known by its fingerprint.
CREATE TABLE findings (
    id               uuid        PRIMARY KEY,
    project_id       uuid        NOT NULL REFERENCES projects ON DELETE CASCADE,
    fingerprint      text        NOT NULL CHECK (octet_length(fingerprint) BETWEEN 1 AND 100),
    -- The candidate: what may be the cause.
    kind             text        NOT NULL CHECK (length(kind) BETWEEN 1 AND 100),
    title            text        NOT NULL CHECK (length(title) BETWEEN 1 AND 500),
    key              text        NOT NULL CHECK (octet_length(key) BETWEEN 1 AND 1000),
    edits            text        NOT NULL CHECK (edits IS JSON ARRAY),
    -- The batch that tested it, and its grader of outcomes.
    batch_id         uuid        REFERENCES replay_batches ON DELETE SET NULL,
    outcome          text        CHECK (outcome IS JSON OBJECT),
    -- What the batch showed when it was deleted. A batch that exists tells it itself.
    verdict          text        CHECK (verdict IS JSON OBJECT),
    status           text        NOT NULL CHECK (status IN ('open', 'confirmed', 'refuted')),
    note             text        CHECK (length(note) BETWEEN 1 AND 2000),
    -- What it was promoted to.
    prompt_id        uuid        REFERENCES prompts ON DELETE SET NULL,
    prompt_version   integer,
    dataset_id       uuid        REFERENCES datasets ON DELETE SET NULL,
    dataset_revision integer,
    -- Both authors are null for a user who was deleted.
    created_by       uuid        REFERENCES users ON DELETE SET NULL,
    created_by_key   text,
    created_at       timestamptz NOT NULL,
    changed_by       uuid        REFERENCES users ON DELETE SET NULL,
    changed_by_key   text,
    changed_at       timestamptz NOT NULL,
    revision         integer     NOT NULL CHECK (revision > 0), -- counts the changes
    CONSTRAINT findings_key_key UNIQUE (project_id, fingerprint, key)
);
CREATE INDEX findings_created_by_idx ON findings (created_by);
CREATE INDEX findings_changed_by_idx ON findings (changed_by);
CREATE INDEX findings_batch_id_idx ON findings (batch_id);
CREATE INDEX findings_prompt_id_idx ON findings (prompt_id);
CREATE INDEX findings_dataset_id_idx ON findings (dataset_id);

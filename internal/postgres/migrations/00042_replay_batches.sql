-- +goose Up

-- Replays of many recorded runs with the same edit.
CREATE TABLE replay_batches (
    id               uuid        PRIMARY KEY,
    project_id       uuid        NOT NULL REFERENCES projects ON DELETE CASCADE,
    name             text        NOT NULL CHECK (length(name) BETWEEN 1 AND 200),
    -- What is edited, and how runs are replayed.
    config           text        NOT NULL CHECK (config IS JSON OBJECT),
    controls         integer     NOT NULL,
    treatments       integer     NOT NULL,
    -- How often a result was told before attempts were added.
    looks            integer     NOT NULL DEFAULT 0,
    -- A nanodollar is 1/1,000,000,000 of a US dollar.
    max_cost_nanousd bigint,
    allow_unpriced   boolean     NOT NULL,
    status           text        NOT NULL CHECK (status IN ('queued', 'running', 'succeeded', 'failed', 'cancelled')),
    stop_reason      text        CHECK (stop_reason IN ('max_cost', 'budget')),
    error_code       text,
    error_detail     text,
    job_id           bigint,
    -- The try of the job that works on it. What another one stores is refused.
    try              uuid,
    -- Null before the end.
    result           text        CHECK (result IS JSON OBJECT),
    created_by       uuid        REFERENCES users ON DELETE SET NULL,
    created_by_key   text,
    created_at       timestamptz NOT NULL,
    started_at       timestamptz,
    finished_at      timestamptz
);
CREATE INDEX replay_batches_project_id_idx ON replay_batches (project_id, created_at);
CREATE INDEX replay_batches_created_by_idx ON replay_batches (created_by);
CREATE INDEX replay_batches_open_idx ON replay_batches (id) WHERE status IN ('queued', 'running') OR (status <> 'failed' AND result IS NULL);

-- A replay of a batch has no job of its own.
ALTER TABLE replays ADD COLUMN batch_id uuid REFERENCES replay_batches ON DELETE CASCADE;

-- The runs of a batch.
CREATE TABLE replay_batch_runs (
    batch_id  uuid    NOT NULL REFERENCES replay_batches ON DELETE CASCADE,
    number    integer NOT NULL,
    run_id    uuid    NOT NULL,
    -- Whether it was chosen because it failed, or drawn from those that ended well.
    part      text    NOT NULL CHECK (part IN ('chosen', 'good')),
    -- Null before it is planned, and for a run that cannot be replayed.
    replay_id uuid    REFERENCES replays ON DELETE SET NULL,
    -- Why it cannot be replayed.
    code      text,
    detail    text,
    -- What became of it. Null before the end.
    outcome   text    CHECK (outcome IN ('repaired', 'recovers_unedited', 'mixed', 'still_failing', 'kept', 'broken', 'fails_unedited', 'unknown', 'not_replayable')),
    PRIMARY KEY (batch_id, number),
    UNIQUE (batch_id, run_id)
);
CREATE INDEX replay_batch_runs_replay_id_idx ON replay_batch_runs (replay_id);
CREATE INDEX replays_batch_id_idx ON replays (batch_id) WHERE batch_id IS NOT NULL;

-- +goose Up

-- Replays of recorded runs with edits.
CREATE TABLE replays (
    id               uuid        PRIMARY KEY,
    project_id       uuid        NOT NULL REFERENCES projects ON DELETE CASCADE,
    name             text        NOT NULL CHECK (length(name) BETWEEN 1 AND 200),
    -- The recorded run. It may have been deleted.
    run_id           uuid        NOT NULL,
    run_name         text        NOT NULL,
    -- What is edited, and how it is replayed.
    config           text        NOT NULL CHECK (config IS JSON OBJECT),
    controls         integer     NOT NULL,
    treatments       integer     NOT NULL,
    -- A nanodollar is 1/1,000,000,000 of a US dollar.
    max_cost_nanousd bigint,
    allow_unpriced   boolean     NOT NULL,
    estimate         text        NOT NULL CHECK (estimate IS JSON OBJECT),
    status           text        NOT NULL CHECK (status IN ('queued', 'running', 'succeeded', 'failed', 'cancelled')),
    stop_reason      text        CHECK (stop_reason IN ('max_cost', 'budget')),
    error_code       text,
    error_detail     text,
    job_id           bigint,
    -- The try of the job that works on it. What another one stores is refused.
    try              uuid,
    -- What its calls cost, and the verdict. Null before the end.
    cost             text        CHECK (cost IS JSON OBJECT),
    verdict          text        CHECK (verdict IS JSON OBJECT),
    created_by       uuid        REFERENCES users ON DELETE SET NULL,
    created_by_key   text,
    created_at       timestamptz NOT NULL,
    started_at       timestamptz,
    finished_at      timestamptz
);
CREATE INDEX replays_project_id_idx ON replays (project_id, created_at);
CREATE INDEX replays_run_id_idx ON replays (run_id);
CREATE INDEX replays_created_by_idx ON replays (created_by);
CREATE INDEX replays_open_idx ON replays (id) WHERE status IN ('queued', 'running') OR (status <> 'failed' AND verdict IS NULL);

-- One attempt of a replay. It is a run, too.
CREATE TABLE replay_attempts (
    replay_id    uuid        NOT NULL REFERENCES replays ON DELETE CASCADE,
    -- The order in which they are made.
    number       integer     NOT NULL,
    role         text        NOT NULL CHECK (role IN ('control', 'treatment')),
    -- Among those of its role.
    index        integer     NOT NULL,
    status       text        NOT NULL CHECK (status IN ('queued', 'running', 'succeeded', 'failed', 'cancelled')),
    run_id       uuid        NOT NULL,
    -- Whether it is a control of another replay, which has the same run_id.
    reused       boolean     NOT NULL DEFAULT false,
    -- Of all that a control depends on. Null for a treatment.
    control_key  bytea,
    stop_reason  text,
    error_code   text,
    error_detail text,
    -- What it was like, and what it did at each step, as JSON without texts of the run. Null before the end.
    result       text        CHECK (result IS JSON OBJECT),
    details      text        CHECK (details IS JSON OBJECT),
    started_at   timestamptz,
    finished_at  timestamptz,
    PRIMARY KEY (replay_id, number)
);
CREATE INDEX replay_attempts_control_key_idx ON replay_attempts (control_key) WHERE status = 'succeeded' AND NOT reused;

-- The steps of an attempt while it is made, so that none is made twice.
CREATE TABLE replay_steps (
    replay_id uuid    NOT NULL,
    number    integer NOT NULL,
    step      integer NOT NULL,
    content   text    NOT NULL CHECK (content IS JSON OBJECT),
    PRIMARY KEY (replay_id, number, step),
    FOREIGN KEY (replay_id, number) REFERENCES replay_attempts ON DELETE CASCADE
);

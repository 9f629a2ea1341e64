-- +goose Up

ALTER TABLE provider_calls
    DROP CONSTRAINT provider_calls_feature_check,
    ADD CONSTRAINT provider_calls_feature_check CHECK (feature IN ('playground', 'test', 'comparison', 'evaluation', 'replay', 'diagnosis'));

-- What a model was asked about runs that failed, and what it claimed of their cause.
CREATE TABLE diagnoses (
    id               uuid        PRIMARY KEY,
    project_id       uuid        NOT NULL REFERENCES projects ON DELETE CASCADE,
    name             text        NOT NULL CHECK (length(name) BETWEEN 1 AND 200),
    -- Null where runs were named.
    fingerprint      text,
    -- What is asked of whom, about which runs.
    config           text        NOT NULL CHECK (config IS JSON OBJECT),
    -- A nanodollar is 1/1,000,000,000 of a US dollar.
    max_cost_nanousd bigint,
    allow_unpriced   boolean     NOT NULL,
    status           text        NOT NULL CHECK (status IN ('queued', 'running', 'succeeded', 'failed', 'cancelled')),
    error_code       text,
    error_detail     text,
    job_id           bigint,
    -- The try of the job that works on it. What another one stores is refused.
    try              uuid,
    -- What the model answered. It is stored as soon as it is there: it is paid.
    answer           text        CHECK (answer IS JSON OBJECT),
    -- The claims whose quotes were found. Null before the end.
    result           text        CHECK (result IS JSON OBJECT),
    created_by       uuid        REFERENCES users ON DELETE SET NULL,
    created_by_key   text,
    created_at       timestamptz NOT NULL,
    started_at       timestamptz,
    finished_at      timestamptz
);
CREATE INDEX diagnoses_project_id_idx ON diagnoses (project_id, created_at);
CREATE INDEX diagnoses_created_by_idx ON diagnoses (created_by);
CREATE INDEX diagnoses_open_idx ON diagnoses (id) WHERE status IN ('queued', 'running');

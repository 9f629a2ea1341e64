-- +goose Up

-- Connections to model providers.
CREATE TABLE providers (
    id                    uuid        PRIMARY KEY DEFAULT uuidv7(),
    project_id            uuid        NOT NULL REFERENCES projects ON DELETE CASCADE,
    name                  text        NOT NULL CHECK (length(name) BETWEEN 1 AND 100),
    kind                  text        NOT NULL CHECK (kind IN ('openai', 'anthropic')),
    base_url              text        NOT NULL,
    -- The API key and the values of headers, encrypted, and the id of the key that encrypted them.
    secrets               bytea       NOT NULL,
    secret_id             text        NOT NULL,
    -- The last characters of the API key. Null: there is no API key.
    key_hint              text,
    header_names          text[]      NOT NULL,
    max_concurrency       integer     NOT NULL,
    requests_per_minute   integer,
    -- A nanodollar is 1/1,000,000,000 of a US dollar.
    monthly_budget_nanousd bigint,
    allow_unpriced        boolean     NOT NULL,
    created_by            uuid        REFERENCES users ON DELETE SET NULL,
    created_by_key        text,
    created_at            timestamptz NOT NULL,
    updated_at            timestamptz NOT NULL
);
CREATE UNIQUE INDEX providers_name_key ON providers (project_id, lower(name));
CREATE INDEX providers_created_by_idx ON providers (created_by);

-- What calls of a connection change. All processes share it.
CREATE TABLE provider_states (
    provider_id       uuid        PRIMARY KEY REFERENCES providers ON DELETE CASCADE,
    running           integer     NOT NULL DEFAULT 0,
    -- Most calls at once: cut after a 429, grown after as many successes.
    concurrency_limit integer     NOT NULL,
    successes         integer     NOT NULL DEFAULT 0,
    limited_at        timestamptz,
    paused_until      timestamptz,
    -- When the next call may begin, by requests_per_minute.
    next_call_at      timestamptz,
    -- The first day of the month of spent_nanousd.
    month             date        NOT NULL,
    spent_nanousd     bigint      NOT NULL DEFAULT 0,
    reserved_nanousd  bigint      NOT NULL DEFAULT 0
) WITH (fillfactor = 50);

-- What was learned of a model from answers to calls of a connection.
CREATE TABLE provider_models (
    provider_id     uuid        NOT NULL REFERENCES providers ON DELETE CASCADE,
    model           text        NOT NULL,
    -- How to ask for what was refused, by parameter.
    adjustments     text        NOT NULL DEFAULT '{}' CHECK (adjustments IS JSON OBJECT),
    -- What to tell the user, by parameter: {"message", "learned_at"}.
    notes           text        NOT NULL DEFAULT '{}' CHECK (notes IS JSON OBJECT),
    output_strategy text        CHECK (output_strategy IN ('native', 'tool', 'json_mode', 'text')),
    updated_at      timestamptz NOT NULL,
    PRIMARY KEY (provider_id, model)
);

-- Requests to providers, with what they cost. They outlive their connection.
CREATE TABLE provider_calls (
    id               uuid        PRIMARY KEY,
    project_id       uuid        NOT NULL REFERENCES projects ON DELETE CASCADE,
    provider_id      uuid        NOT NULL,
    provider_name    text        NOT NULL,
    feature          text        NOT NULL CHECK (feature IN ('playground', 'test', 'comparison', 'evaluation', 'replay')),
    user_id          uuid        REFERENCES users ON DELETE SET NULL,
    key_name         text,
    model            text        NOT NULL,
    status           text        NOT NULL CHECK (status IN ('running', 'succeeded', 'failed', 'lost')),
    -- The most that it can cost. Null: the model has no price.
    reserved_nanousd bigint,
    -- Null: unknown. The reserved amount counts then.
    cost_nanousd     bigint,
    error_code       text,
    started_at       timestamptz NOT NULL,
    -- Until when its process said that it runs.
    lease_until      timestamptz NOT NULL,
    finished_at      timestamptz
);
CREATE INDEX provider_calls_project_id_idx ON provider_calls (project_id, started_at);
CREATE INDEX provider_calls_running_idx ON provider_calls (lease_until) WHERE status = 'running';
CREATE INDEX provider_calls_user_id_idx ON provider_calls (user_id);

-- Keys of the control plane itself, with which it records its own runs. Nobody sees them.
ALTER TABLE api_keys ADD COLUMN internal boolean NOT NULL DEFAULT false;

-- Messages and variables that people of a project save for the playground.
CREATE TABLE scenarios (
    id             uuid        PRIMARY KEY DEFAULT uuidv7(),
    project_id     uuid        NOT NULL REFERENCES projects ON DELETE CASCADE,
    name           text        NOT NULL CHECK (length(name) BETWEEN 1 AND 100),
    content        text        NOT NULL CHECK (content IS JSON OBJECT),
    created_by     uuid        REFERENCES users ON DELETE SET NULL,
    created_by_key text,
    created_at     timestamptz NOT NULL,
    updated_at     timestamptz NOT NULL
);
CREATE UNIQUE INDEX scenarios_name_key ON scenarios (project_id, lower(name));
CREATE INDEX scenarios_created_by_idx ON scenarios (created_by);

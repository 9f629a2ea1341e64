-- +goose Up

-- Experiments that SDKs of Langfuse report in spans, and that become eval-runs. The id is that of the eval-run.
CREATE TABLE experiments (
    id             uuid        PRIMARY KEY,
    project_id     uuid        NOT NULL REFERENCES projects ON DELETE CASCADE,
    -- The id that the SDK gave it.
    external_id    text        NOT NULL,
    name           text        NOT NULL,
    -- What the eval-run says of itself, without counts.
    metadata       text        NOT NULL CHECK (metadata IS JSON OBJECT),
    -- Whether there is or was an eval-run.
    begun          boolean     NOT NULL DEFAULT false,
    created_at     timestamptz NOT NULL,
    last_result_at timestamptz NOT NULL,
    -- When the eval-run was finished because no results came any more. Null while they come, or if somebody else ended it.
    finished_at    timestamptz,
    UNIQUE (project_id, external_id)
);
CREATE INDEX experiments_created_at_idx ON experiments (project_id, created_at);

-- The datasets of their items, by what the SDK says of them.
CREATE TABLE experiment_datasets (
    project_id uuid NOT NULL REFERENCES projects ON DELETE CASCADE,
    source     text NOT NULL,
    dataset_id uuid NOT NULL REFERENCES datasets ON DELETE CASCADE,
    PRIMARY KEY (project_id, source)
);
CREATE INDEX experiment_datasets_dataset_id_idx ON experiment_datasets (dataset_id);

-- Each span that reported a result: the item that it is the result of, or why it is not used.
CREATE TABLE experiment_results (
    experiment_id uuid   NOT NULL REFERENCES experiments ON DELETE CASCADE,
    run_id        uuid   NOT NULL,
    span_id       bigint NOT NULL,
    item_key      text,
    unused        text,
    PRIMARY KEY (experiment_id, run_id, span_id),
    CHECK (item_key IS NOT NULL OR unused IS NOT NULL)
);
CREATE UNIQUE INDEX experiment_results_item_key_key ON experiment_results (experiment_id, item_key) WHERE unused IS NULL;

-- Runs that were written and whose experiments were not read yet.
CREATE TABLE experiment_runs (
    project_id   uuid        NOT NULL REFERENCES projects ON DELETE CASCADE,
    run_id       uuid        NOT NULL,
    -- When ClickHouse wrote the newest row that was seen.
    written_at   timestamptz NOT NULL,
    attempts     integer     NOT NULL DEFAULT 0,
    next_attempt timestamptz NOT NULL,
    PRIMARY KEY (project_id, run_id)
);
CREATE INDEX experiment_runs_next_attempt_idx ON experiment_runs (next_attempt);

-- The place up to which written runs were found, in one row.
CREATE TABLE experiment_marks (
    singleton  boolean     PRIMARY KEY DEFAULT true CHECK (singleton),
    written_at timestamptz NOT NULL,
    project_id uuid        NOT NULL,
    run_id     uuid        NOT NULL
);

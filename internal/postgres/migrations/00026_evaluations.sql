-- +goose Up

-- Comparisons of two configurations over a revision of a dataset, and eval-runs of one. Side a is 0, side b is 1; eval-runs have only side a.
CREATE TABLE evaluations (
    id                 uuid        PRIMARY KEY DEFAULT uuidv7(),
    project_id         uuid        NOT NULL REFERENCES projects ON DELETE CASCADE,
    kind               text        NOT NULL CHECK (kind IN ('comparison', 'eval_run')),
    name               text        NOT NULL CHECK (length(name) BETWEEN 1 AND 200),
    -- A dataset is not deleted while an evaluation refers to it. Not RESTRICT: a deleted project takes both.
    dataset_id         uuid        NOT NULL REFERENCES datasets,
    revision           integer     NOT NULL,
    split              text,
    item_count         bigint      NOT NULL,
    repeats            integer     NOT NULL CHECK (repeats BETWEEN 1 AND 100),
    seed               bigint      NOT NULL,
    -- What is compared, with the contents of prompt versions, and how it is graded.
    config             text        NOT NULL CHECK (config IS JSON OBJECT),
    primary_metric     text,
    -- Eval-runs whose outputs a comparison compares.
    a_eval_run_id      uuid        REFERENCES evaluations,
    b_eval_run_id      uuid        REFERENCES evaluations,
    -- What an eval-run from outside says of itself.
    branch             text,
    commit             text,
    metadata           text        NOT NULL DEFAULT '{}' CHECK (metadata IS JSON OBJECT),
    max_cost_nanousd   bigint,
    allow_unpriced     boolean     NOT NULL,
    status             text        NOT NULL CHECK (status IN ('queued', 'running', 'succeeded', 'failed', 'cancelled')),
    stop_reason        text,
    error_code         text,
    error_detail       text,
    -- The job of River, and the attempt that works on it. An attempt that another one replaced changes nothing more.
    job_id             bigint,
    attempt            uuid,
    outputs_total      bigint      NOT NULL CHECK (outputs_total > 0),
    outputs_done       bigint      NOT NULL DEFAULT 0,
    outputs_failed     bigint      NOT NULL DEFAULT 0,
    outputs_skipped    bigint      NOT NULL DEFAULT 0,
    estimate           text        NOT NULL CHECK (estimate IS JSON OBJECT),
    -- Made by the job at its end, so that they are read fast.
    accounting         text        CHECK (accounting IS JSON OBJECT),
    cost               text        CHECK (cost IS JSON OBJECT),
    summary            text        CHECK (summary IS JSON OBJECT),
    created_by         uuid        REFERENCES users ON DELETE SET NULL,
    created_by_key     text,
    created_at         timestamptz NOT NULL,
    started_at         timestamptz,
    finished_at        timestamptz
);
CREATE INDEX evaluations_project_id_idx ON evaluations (project_id, kind, created_at);
CREATE INDEX evaluations_dataset_id_idx ON evaluations (dataset_id);
CREATE INDEX evaluations_a_eval_run_id_idx ON evaluations (a_eval_run_id);
CREATE INDEX evaluations_b_eval_run_id_idx ON evaluations (b_eval_run_id);
CREATE INDEX evaluations_created_by_idx ON evaluations (created_by);
CREATE INDEX evaluations_unfinished_idx ON evaluations (job_id) WHERE status IN ('queued', 'running');

-- The items of an evaluation in the order in which they run.
CREATE TABLE evaluation_items (
    evaluation_id uuid    NOT NULL REFERENCES evaluations ON DELETE CASCADE,
    number        integer NOT NULL,
    item_id       uuid    NOT NULL,
    -- The ordinal in the dataset.
    ordinal       bigint  NOT NULL,
    key           text,
    -- That of input and reference output.
    content_hash  bytea   NOT NULL,
    status        text    NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'scored', 'target_failed', 'judge_failed', 'skipped')),
    reason        text,
    -- By metric: the means of both sides, and what became of the item. Null until the evaluation has ended.
    metrics       jsonb,
    PRIMARY KEY (evaluation_id, number),
    UNIQUE (evaluation_id, item_id)
);

-- One output of a side for an item.
CREATE TABLE evaluation_outputs (
    evaluation_id      uuid             NOT NULL,
    number             integer          NOT NULL,
    side               smallint         NOT NULL CHECK (side IN (0, 1)),
    repeat             smallint         NOT NULL,
    status             text             NOT NULL CHECK (status IN ('ok', 'failed')),
    error_code         text,
    error_detail       text,
    -- JSON: a text, or a value that follows a schema. Null: none.
    output             text,
    message            text,
    run_id             uuid,
    model              text,
    fingerprint        text,
    finish_reason      text,
    duration_ms        double precision,
    input_tokens       bigint,
    output_tokens      bigint,
    cache_read_tokens  bigint,
    cache_write_tokens bigint,
    reasoning_tokens   bigint,
    cost_nanousd       bigint,
    -- Requests to the provider.
    requests           integer          NOT NULL,
    -- A list of what graders found.
    scores             text             NOT NULL DEFAULT '[]',
    -- That of a result from outside as it was sent, which tells a retry from another result.
    result_hash        bytea,
    created_at         timestamptz      NOT NULL,
    PRIMARY KEY (evaluation_id, number, side, repeat),
    FOREIGN KEY (evaluation_id, number) REFERENCES evaluation_items ON DELETE CASCADE
);

-- Calls of an evaluation, whose costs count in its cap.
ALTER TABLE provider_calls ADD COLUMN evaluation_id uuid;
CREATE INDEX provider_calls_evaluation_id_idx ON provider_calls (evaluation_id) WHERE evaluation_id IS NOT NULL;

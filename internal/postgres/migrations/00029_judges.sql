-- +goose Up

-- One vote of a judge on an output, or on the outputs of both sides in one of their orders.
CREATE TABLE evaluation_votes (
    evaluation_id      uuid             NOT NULL REFERENCES evaluations ON DELETE CASCADE,
    -- The item. 0 is the canary of a judge, and numbers below are anchors: they are in no statistic of the outputs.
    number             integer          NOT NULL,
    -- 0 for a preference, which is about both sides.
    side               smallint         NOT NULL CHECK (side IN (0, 1)),
    repeat             smallint         NOT NULL,
    -- The places of panel and judge in the configuration. The judge after the last one is the escalation.
    panel              smallint         NOT NULL,
    judge              smallint         NOT NULL,
    vote               smallint         NOT NULL,
    -- Whether a preference saw b first.
    swapped            boolean          NOT NULL,
    status             text             NOT NULL CHECK (status IN ('ok', 'parse_error', 'refused', 'off_scale', 'timeout', 'provider_error')),
    value              double precision,
    label              text,
    reason             text             NOT NULL,
    -- What the model answered.
    raw                text,
    error_code         text,
    error_detail       text,
    truncated          boolean          NOT NULL,
    cached             boolean          NOT NULL,
    -- Of all that the vote depends on: the version of the judge, the texts, their order and which of the judge's votes it is.
    cache_key          bytea            NOT NULL,
    requests           integer          NOT NULL,
    model              text,
    run_id             uuid,
    duration_ms        double precision,
    input_tokens       bigint,
    output_tokens      bigint,
    cache_read_tokens  bigint,
    cache_write_tokens bigint,
    reasoning_tokens   bigint,
    cost_nanousd       bigint,
    created_at         timestamptz      NOT NULL,
    PRIMARY KEY (evaluation_id, number, side, repeat, panel, judge, vote, swapped)
);
CREATE INDEX evaluation_votes_cache_key_idx ON evaluation_votes (cache_key) WHERE status = 'ok' AND NOT cached;

-- How a person judges an output of an item. It is about the texts: every evaluation that has them has the label.
CREATE TABLE evaluation_labels (
    project_id  uuid             NOT NULL REFERENCES projects ON DELETE CASCADE,
    -- The name of the panel.
    score       text             NOT NULL CHECK (length(score) BETWEEN 1 AND 100),
    -- Those of the dataset's item, and of the output's text.
    item_hash   bytea            NOT NULL,
    output_hash bytea            NOT NULL,
    -- user:<id> or key:<name>.
    author      text             NOT NULL,
    user_id     uuid             REFERENCES users ON DELETE SET NULL,
    key_name    text,
    value       double precision NOT NULL,
    label       text,
    note        text             NOT NULL,
    created_at  timestamptz      NOT NULL,
    PRIMARY KEY (project_id, score, item_hash, output_hash, author)
);
CREATE INDEX evaluation_labels_user_id_idx ON evaluation_labels (user_id);

ALTER TABLE evaluations
    ADD COLUMN votes_total   bigint NOT NULL DEFAULT 0,
    ADD COLUMN votes_done    bigint NOT NULL DEFAULT 0,
    ADD COLUMN votes_failed  bigint NOT NULL DEFAULT 0,
    ADD COLUMN votes_skipped bigint NOT NULL DEFAULT 0,
    -- The eval-run whose outputs are judged again, or are anchors.
    ADD COLUMN source_eval_run_id uuid REFERENCES evaluations;
CREATE INDEX evaluations_source_eval_run_id_idx ON evaluations (source_eval_run_id);

-- Eval-runs have jobs, too, which are given again where they were lost.
DROP INDEX evaluations_open_idx;
CREATE INDEX evaluations_open_idx ON evaluations (id) WHERE status IN ('queued', 'running') OR (status IN ('cancelled', 'succeeded') AND summary IS NULL);

-- +goose Up

-- Rules that score runs as they come.
CREATE TABLE eval_rules (
    id               uuid             PRIMARY KEY,
    project_id       uuid             NOT NULL REFERENCES projects ON DELETE CASCADE,
    name             text             NOT NULL CHECK (length(name) BETWEEN 1 AND 200),
    -- Counts changes of what is scored, and how.
    version          integer          NOT NULL DEFAULT 1,
    status           text             NOT NULL CHECK (status IN ('active', 'paused', 'stopped')),
    -- Why it stopped by itself.
    stop_code        text,
    stop_detail      text,
    stop_remedy      text,
    stopped_at       timestamptz,
    -- A query string with filters of runs.
    run_filter       text             NOT NULL,
    sample_rate      double precision NOT NULL CHECK (sample_rate > 0 AND sample_rate <= 1),
    -- Graders and panels.
    scoring          text             NOT NULL CHECK (scoring IS JSON OBJECT),
    -- What judges may cost in a day.
    max_cost_nanousd bigint,
    allow_unpriced   boolean          NOT NULL,
    -- The place up to which written runs were looked at. Runs that ended before takes_from are not taken.
    mark_written_at  timestamptz      NOT NULL,
    mark_run_id      uuid             NOT NULL,
    takes_from       timestamptz      NOT NULL,
    -- How many votes failed one after the other for a reason that only a person can mend.
    failures         integer          NOT NULL DEFAULT 0,
    created_by_id    uuid             REFERENCES users ON DELETE SET NULL,
    author_key       text,
    created_at       timestamptz      NOT NULL,
    updated_at       timestamptz      NOT NULL,
    UNIQUE (project_id, name),
    CHECK ((status = 'stopped') = (stop_code IS NOT NULL))
);
CREATE INDEX eval_rules_created_by_id_idx ON eval_rules (created_by_id);
CREATE INDEX eval_rules_active_idx ON eval_rules (id) WHERE status <> 'stopped';

-- The runs that rules took. A row stays while its rule does, so that a run is taken once.
CREATE TABLE eval_rule_runs (
    rule_id         uuid        NOT NULL REFERENCES eval_rules ON DELETE CASCADE,
    run_id          uuid        NOT NULL,
    -- Empty if the run was deleted.
    run_name        text        NOT NULL,
    version         integer     NOT NULL,
    status          text        NOT NULL CHECK (status IN ('pending', 'scored', 'partly_scored', 'failed', 'skipped', 'over_budget')),
    -- In UTC, of taken_at.
    day             date        NOT NULL,
    taken_at        timestamptz NOT NULL,
    -- When a pending run is due. While a worker has it, this is when its lease ends.
    next_attempt    timestamptz NOT NULL,
    worker          uuid,
    attempts        integer     NOT NULL DEFAULT 0,
    error_code      text,
    error_detail    text,
    -- The known cost of its votes, and whether that of a call is unknown.
    cost_nanousd    bigint      NOT NULL DEFAULT 0,
    cost_unknown    boolean     NOT NULL DEFAULT false,
    -- What it counts in the budget of a day: with what it reserved, and the most that calls of unknown cost can have cost.
    counted_nanousd bigint      NOT NULL DEFAULT 0,
    counted_day     date,
    finished_at     timestamptz,
    PRIMARY KEY (rule_id, run_id)
);
CREATE INDEX eval_rule_runs_taken_at_idx ON eval_rule_runs (rule_id, taken_at DESC, run_id);
CREATE INDEX eval_rule_runs_day_idx ON eval_rule_runs (rule_id, day, version, status);
CREATE INDEX eval_rule_runs_counted_day_idx ON eval_rule_runs (rule_id, counted_day) WHERE counted_nanousd > 0;
CREATE INDEX eval_rule_runs_next_attempt_idx ON eval_rule_runs (rule_id, next_attempt) WHERE status = 'pending';
CREATE INDEX eval_rule_runs_run_id_idx ON eval_rule_runs (run_id);

-- The scores of runs, in the order of graders and panels.
CREATE TABLE eval_rule_scores (
    rule_id  uuid             NOT NULL,
    run_id   uuid             NOT NULL,
    ordinal  smallint         NOT NULL,
    day      date             NOT NULL,
    version  integer          NOT NULL,
    name     text             NOT NULL,
    value    double precision,
    pass     boolean,
    -- The category, null for numbers.
    label    text,
    reason   text             NOT NULL,
    error    text             NOT NULL,
    evidence text,
    PRIMARY KEY (rule_id, run_id, ordinal),
    FOREIGN KEY (rule_id, run_id) REFERENCES eval_rule_runs ON DELETE CASCADE
);
CREATE INDEX eval_rule_scores_day_idx ON eval_rule_scores (rule_id, day, version, name) INCLUDE (value, pass, label);

-- The votes of judges.
CREATE TABLE eval_rule_votes (
    rule_id            uuid             NOT NULL,
    run_id             uuid             NOT NULL,
    -- That of the rule, whose judges these are.
    version            integer          NOT NULL,
    panel              smallint         NOT NULL,
    judge              smallint         NOT NULL,
    vote               smallint         NOT NULL,
    panel_name         text             NOT NULL,
    judge_name         text             NOT NULL,
    escalated          boolean          NOT NULL,
    status             text             NOT NULL CHECK (status IN ('ok', 'parse_error', 'refused', 'off_scale', 'timeout', 'provider_error')),
    value              double precision,
    score              double precision,
    label              text,
    pass               boolean,
    reason             text             NOT NULL,
    raw                text,
    error_code         text,
    error_detail       text,
    truncated          boolean          NOT NULL,
    requests           integer          NOT NULL,
    model              text,
    judge_run_id       uuid,
    duration_ms        double precision,
    input_tokens       bigint,
    output_tokens      bigint,
    cache_read_tokens  bigint,
    cache_write_tokens bigint,
    reasoning_tokens   bigint,
    cost_nanousd       bigint,
    created_at         timestamptz      NOT NULL,
    PRIMARY KEY (rule_id, run_id, version, panel, judge, vote),
    FOREIGN KEY (rule_id, run_id) REFERENCES eval_rule_runs ON DELETE CASCADE
);

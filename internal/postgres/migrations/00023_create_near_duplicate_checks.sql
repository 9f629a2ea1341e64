-- +goose Up

-- Checks of revisions of datasets for near-duplicates.
CREATE TABLE near_duplicate_checks (
    id              uuid             PRIMARY KEY DEFAULT uuidv7(),
    dataset_id      uuid             NOT NULL REFERENCES datasets ON DELETE CASCADE,
    revision        integer          NOT NULL CHECK (revision >= 0),
    threshold       double precision NOT NULL CHECK (threshold BETWEEN 0.5 AND 1),
    status          text             NOT NULL CHECK (status IN ('queued', 'running', 'succeeded', 'failed', 'cancelled')),
    phase           text             CHECK (phase IN ('reading', 'comparing')),
    -- The items of the revision, and how many were read.
    total           bigint           NOT NULL,
    processed       bigint           NOT NULL DEFAULT 0,
    -- Null until it has succeeded.
    without_text    bigint,
    pairs           bigint,
    pairs_across    bigint,
    pairs_listed    bigint,
    partly_compared bigint,
    -- The values that were left out: member, text and share.
    shared          text             CHECK (shared IS JSON ARRAY),
    error_code      text,
    error_detail    text,
    job_id          bigint,
    -- The attempt that may write. Another one that still runs cannot.
    attempt_id      uuid,
    created_by      uuid             REFERENCES users ON DELETE SET NULL,
    created_by_key  text,
    created_at      timestamptz      NOT NULL,
    updated_at      timestamptz      NOT NULL,
    started_at      timestamptz,
    finished_at     timestamptz
);
CREATE UNIQUE INDEX near_duplicate_checks_revision_key ON near_duplicate_checks (dataset_id, revision);
-- A dataset has one check at a time.
CREATE UNIQUE INDEX near_duplicate_checks_unfinished_key ON near_duplicate_checks (dataset_id) WHERE status IN ('queued', 'running');
CREATE INDEX near_duplicate_checks_created_by_idx ON near_duplicate_checks (created_by);

-- The first pairs of a check, in the order in which they are listed.
CREATE TABLE near_duplicate_pairs (
    check_id   uuid             NOT NULL REFERENCES near_duplicate_checks ON DELETE CASCADE,
    number     integer          NOT NULL,
    a_item_id  uuid             NOT NULL,
    b_item_id  uuid             NOT NULL,
    similarity double precision NOT NULL,
    across     boolean          NOT NULL,
    PRIMARY KEY (check_id, number)
);

-- +goose Up

-- What a request with an Idempotency-Key was answered, so that a retry gets the same answer and does nothing.
CREATE TABLE kept_answers (
    -- A keyed hash of who asked, for which operation, and of the client's key.
    id            bytea       PRIMARY KEY CHECK (octet_length(id) = 32),
    -- A keyed hash of all that was asked: another request under the same key is a mistake.
    request       bytea       NOT NULL CHECK (octet_length(request) = 32),
    -- Who does what was asked, and until when nobody else may: a process that died frees the key by the clock.
    claim         uuid        NOT NULL,
    claimed_until timestamptz NOT NULL,
    -- Encrypted, since a new key's secret is in one; null until the work is done.
    answer        bytea,
    expires_at    timestamptz NOT NULL
);
-- For the removal of what has expired.
CREATE INDEX kept_answers_expires_at_idx ON kept_answers (expires_at);

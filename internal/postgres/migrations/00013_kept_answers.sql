-- +goose Up

-- The answers to requests with an Idempotency-Key: a retry gets the same answer and does nothing.
CREATE TABLE kept_answers (
    -- A keyed hash of the caller, the operation and the client's key.
    id            bytea       PRIMARY KEY CHECK (octet_length(id) = 32),
    -- A keyed hash of the whole request: another request under the same key is a mistake.
    request       bytea       NOT NULL CHECK (octet_length(request) = 32),
    -- Which process does the work, and until when no other may: the key of a process that died becomes free at that time.
    claim         uuid        NOT NULL,
    claimed_until timestamptz NOT NULL,
    -- Encrypted, because it may hold the secret of a new key. Null until the work is done.
    answer        bytea,
    expires_at    timestamptz NOT NULL
);
-- For removing expired answers.
CREATE INDEX kept_answers_expires_at_idx ON kept_answers (expires_at);

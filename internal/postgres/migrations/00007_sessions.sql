-- +goose Up

-- The cookie's token is stored as a hash, so whoever reads this table cannot open a session.
CREATE TABLE sessions (
    token_sha256 bytea       PRIMARY KEY CHECK (octet_length(token_sha256) = 32),
    user_id      uuid        NOT NULL REFERENCES users ON DELETE CASCADE,
    created_at   timestamptz NOT NULL DEFAULT now(),
    last_seen_at timestamptz NOT NULL DEFAULT now(),
    expires_at   timestamptz NOT NULL,
    user_agent   text        NOT NULL DEFAULT '',
    ip           inet,
    CHECK (expires_at > created_at)
);
CREATE INDEX sessions_user_id_idx ON sessions (user_id);
-- For removing expired sessions.
CREATE INDEX sessions_expires_at_idx ON sessions (expires_at);

-- +goose Up

-- The link with which a user sets a new password. A user has at most one; it is deleted with its use.
CREATE TABLE password_resets (
    user_id      uuid        PRIMARY KEY REFERENCES users ON DELETE CASCADE,
    token_sha256 bytea       NOT NULL UNIQUE CHECK (octet_length(token_sha256) = 32),
    created_at   timestamptz NOT NULL DEFAULT now(),
    expires_at   timestamptz NOT NULL
);

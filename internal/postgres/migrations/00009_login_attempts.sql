-- +goose Up

-- Failed logins by subject ('account:<lower-case email>' or 'address:<ip>'). An account has a row whether or not it exists, so that
-- throttling does not reveal which accounts exist. A successful login deletes the account's row.
CREATE TABLE login_attempts (
    key             text        PRIMARY KEY CHECK (length(key) <= 300),
    failures        integer     NOT NULL CHECK (failures > 0),
    first_failed_at timestamptz NOT NULL DEFAULT now(),
    last_failed_at  timestamptz NOT NULL DEFAULT now()
);
-- For removing attempts that are too old to count.
CREATE INDEX login_attempts_last_failed_at_idx ON login_attempts (last_failed_at);

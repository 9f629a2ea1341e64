-- +goose Up

-- At most one row, ever. Setup inserts it in the transaction that creates the first user: of two setups at once the second waits here
-- for the first, and then fails on the primary key.
CREATE TABLE bootstrap (
    only_row     boolean     PRIMARY KEY DEFAULT true CHECK (only_row),
    -- No foreign key: deleting the first user does not open setup again.
    user_id      uuid        NOT NULL,
    completed_at timestamptz NOT NULL DEFAULT now()
);

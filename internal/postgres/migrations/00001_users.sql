-- +goose Up

-- Ids are UUIDv7 in all tables: they sort by creation, so primary keys stay append-mostly and a list by id is a list by age.
CREATE TABLE users (
    id            uuid        PRIMARY KEY DEFAULT uuidv7(),
    email         text        NOT NULL CHECK (length(email) BETWEEN 3 AND 254),
    -- argon2id in PHC format, parameters included, so that they can be raised later.
    password_hash text        NOT NULL,
    created_at    timestamptz NOT NULL DEFAULT now(),
    updated_at    timestamptz NOT NULL DEFAULT now()
);
-- Ann@example.com and ann@example.com are one account; the spelling is kept.
CREATE UNIQUE INDEX users_email_key ON users (lower(email));

-- +goose Up

-- A deactivated user cannot log in. Roles and keys stay.
ALTER TABLE users ADD COLUMN deactivated_at timestamptz;

-- Names a session to its user without the token or its hash.
ALTER TABLE sessions ADD COLUMN id uuid NOT NULL DEFAULT uuidv7() UNIQUE;

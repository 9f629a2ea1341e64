-- +goose Up

-- A link works only as long as its creator could create it: roles may change in the meantime. Earlier links, which last
-- a day, do not name their creator.
DELETE FROM password_resets;
ALTER TABLE password_resets ADD COLUMN created_by uuid NOT NULL REFERENCES users ON DELETE CASCADE;
CREATE INDEX password_resets_created_by_idx ON password_resets (created_by);

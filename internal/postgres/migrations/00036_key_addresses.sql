-- +goose Up

-- Where the last use that last_used_at tells came from. Null for older uses.
ALTER TABLE api_keys ADD COLUMN last_used_ip inet;

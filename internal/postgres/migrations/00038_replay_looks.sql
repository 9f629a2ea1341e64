-- +goose Up

-- How often a replay was judged before attempts were added. Each look at it may find an effect by chance.
ALTER TABLE replays ADD COLUMN looks integer NOT NULL DEFAULT 0;

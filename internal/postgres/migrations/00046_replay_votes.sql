-- +goose Up

-- The votes on the answer of an attempt while it is made, so that no judge is paid twice.
CREATE TABLE replay_votes (
    replay_id uuid    NOT NULL,
    number    integer NOT NULL,
    -- Names a vote among those of the attempt.
    vote      text    NOT NULL,
    content   text    NOT NULL CHECK (content IS JSON OBJECT),
    PRIMARY KEY (replay_id, number, vote),
    FOREIGN KEY (replay_id, number) REFERENCES replay_attempts ON DELETE CASCADE
);

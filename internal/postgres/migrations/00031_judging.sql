-- +goose Up

-- A judge that is asked no more, and the error that it was stopped for. It is forgotten when the evaluation goes on.
CREATE TABLE evaluation_stopped_judges (
    evaluation_id uuid     NOT NULL REFERENCES evaluations ON DELETE CASCADE,
    -- The places of panel and judge in the configuration, as those of votes.
    panel         smallint NOT NULL,
    judge         smallint NOT NULL,
    error_code    text     NOT NULL,
    error_detail  text     NOT NULL,
    PRIMARY KEY (evaluation_id, panel, judge)
);

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

-- The scale that a label was given on: a 3 of 1 to 5 is none of 1 to 3. Unknown for labels from before, if the panels of that name in the
-- project have several scales, or are gone.
ALTER TABLE evaluation_labels
    ADD COLUMN scale jsonb,
    ADD COLUMN scale_hash text NOT NULL GENERATED ALWAYS AS (md5(coalesce(scale::text, ''))) STORED;
UPDATE evaluation_labels l SET scale = s.scale
FROM (
    SELECT e.project_id, p ->> 'name' AS score, min((p #> '{judges,0,definition,scale}')::text)::jsonb AS scale
    FROM evaluations e, jsonb_path_query(e.config::jsonb, '$.panels[*]') AS p
    WHERE e.kind = 'eval_run'
    GROUP BY e.project_id, p ->> 'name'
    HAVING count(DISTINCT p #> '{judges,0,definition,scale}') = 1) s
WHERE l.project_id = s.project_id AND l.score = s.score;
ALTER TABLE evaluation_labels
    DROP CONSTRAINT evaluation_labels_pkey,
    ADD PRIMARY KEY (project_id, score, item_hash, output_hash, author, scale_hash);

-- Ungraded results from outside took a request too long: a job grades them, as it does those whose runs are waited for.
ALTER TABLE evaluation_outputs
    DROP CONSTRAINT evaluation_outputs_run_lookup_check,
    ADD CONSTRAINT evaluation_outputs_run_lookup_check
        CHECK (run_lookup IN ('waiting', 'read', 'not_found', 'unfinished', 'unavailable', 'not_allowed', 'ungraded'));

-- name: list lost evaluations
SELECT id, project_id, status NOT IN ('queued', 'running') AS ended FROM evaluations e
WHERE ((job_id IS NOT NULL AND status IN ('queued', 'running')) OR (status IN ('cancelled', 'succeeded') AND summary IS NULL)) AND coalesce(started_at, created_at) < @before
	AND NOT EXISTS (SELECT FROM river_job j WHERE j.id = e.job_id AND j.state NOT IN ('completed', 'cancelled', 'discarded'))

-- name: set job of evaluation
UPDATE evaluations SET job_id = @job
WHERE id = @id AND ((job_id IS NOT NULL AND status IN ('queued', 'running')) OR (status IN ('cancelled', 'succeeded') AND summary IS NULL))
	AND NOT EXISTS (SELECT FROM river_job j WHERE j.id = job_id AND j.state NOT IN ('completed', 'cancelled', 'discarded'))

-- name: begin evaluation
UPDATE evaluations SET status = CASE WHEN status IN ('cancelled', 'succeeded') THEN status ELSE 'running' END, attempt = @attempt,
	started_at = coalesce(started_at, @now)
WHERE id = @id AND ((job_id IS NOT NULL AND status IN ('queued', 'running')) OR (status IN ('cancelled', 'succeeded') AND summary IS NULL))
	AND coalesce(job_id = @job, true)

-- name: get evaluation of job
SELECT e.project_id, e.kind FROM evaluations e WHERE e.id = @id AND e.attempt = @attempt

-- name: list work
SELECT i.number, i.item_id, i.ordinal, i.key, o.side, o.repeat
FROM (SELECT * FROM evaluation_items WHERE evaluation_id = @id AND number > @after AND number <= @last AND status = 'pending' ORDER BY number LIMIT @limit) i
LEFT JOIN evaluation_outputs o ON o.evaluation_id = i.evaluation_id AND o.number = i.number
ORDER BY i.number

-- name: store outputs
WITH owned AS (
	SELECT id FROM evaluations
	WHERE id = @id AND (attempt = @attempt AND status = 'running' OR leaving = @attempt AND status = 'cancelled') FOR UPDATE),
stored AS (
	INSERT INTO evaluation_outputs (evaluation_id, number, side, repeat, status, error_code, error_detail, output, message, run_id, model, fingerprint,
		finish_reason, duration_ms, input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, reasoning_tokens, cost_nanousd, requests, scores, created_at, run_failed)
	SELECT m.id, r.number, r.side, r.repeat, r.status, r.error_code, r.error_detail, r.output, r.message, r.run_id, r.model, r.fingerprint,
		r.finish_reason, r.duration_ms, r.input_tokens, r.output_tokens, r.cache_read_tokens, r.cache_write_tokens, r.reasoning_tokens, r.cost_nanousd, r.requests, r.scores, r.created_at, r.run_failed
	FROM owned m, json_to_recordset(@rows) AS r(number integer, side smallint, repeat smallint, status text, error_code text, error_detail text, output text, message text,
		run_id uuid, model text, fingerprint text, finish_reason text, duration_ms double precision, input_tokens bigint, output_tokens bigint, cache_read_tokens bigint,
		cache_write_tokens bigint, reasoning_tokens bigint, cost_nanousd bigint, requests integer, scores text, created_at timestamptz, run_failed boolean)
	ON CONFLICT (evaluation_id, number, side, repeat) DO NOTHING
	RETURNING status)
UPDATE evaluations e SET outputs_done = e.outputs_done + s.done, outputs_failed = e.outputs_failed + s.failed
FROM (SELECT count(*) AS done, count(*) FILTER (WHERE status = 'failed') AS failed FROM stored) s
WHERE e.id = (SELECT id FROM owned)

-- name: list items to judge
SELECT number, ordinal FROM evaluation_items WHERE evaluation_id = @id AND number > @after AND number <= @last AND status <> 'skipped' ORDER BY number LIMIT @limit

-- name: list outputs to judge
SELECT number, side, repeat, output, message FROM evaluation_outputs
WHERE evaluation_id = @id AND number = ANY(@numbers) AND status = 'ok' ORDER BY number, repeat, side

-- name: list votes of items
SELECT number, side, repeat, panel, judge, vote, swapped, status, value FROM evaluation_votes WHERE evaluation_id = @id AND number = ANY(@numbers)

-- name: list votes of canaries
SELECT number, side, repeat, panel, judge, vote, swapped, status, value FROM evaluation_votes WHERE evaluation_id = @id AND number = 0

-- name: find cached votes
SELECT DISTINCT ON (v.cache_key) v.cache_key, v.value, v.label, v.reason, v.raw, v.model, v.run_id
FROM evaluation_votes v JOIN evaluations e ON e.id = v.evaluation_id
WHERE v.cache_key = ANY(@keys) AND v.status = 'ok' AND NOT v.cached AND e.project_id = @project
ORDER BY v.cache_key, v.created_at

-- name: store votes
WITH owned AS (
	SELECT id FROM evaluations
	WHERE id = @id AND (attempt = @attempt AND status = 'running' OR leaving = @attempt AND status = 'cancelled') FOR UPDATE),
stored AS (
	INSERT INTO evaluation_votes (evaluation_id, number, side, repeat, panel, judge, vote, swapped, status, value, label, reason, raw, error_code, error_detail, truncated,
		cached, cache_key, requests, model, run_id, duration_ms, input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, reasoning_tokens, cost_nanousd, created_at)
	SELECT m.id, r.number, r.side, r.repeat, r.panel, r.judge, r.vote, r.swapped, r.status, r.value, r.label, r.reason, r.raw, r.error_code, r.error_detail, r.truncated,
		r.cached, decode(r.cache_key, 'hex'), r.requests, r.model, r.run_id, r.duration_ms, r.input_tokens, r.output_tokens, r.cache_read_tokens, r.cache_write_tokens,
		r.reasoning_tokens, r.cost_nanousd, r.created_at
	FROM owned m, json_to_recordset(@rows) AS r(number integer, side smallint, repeat smallint, panel smallint, judge smallint, vote smallint, swapped boolean, status text,
		value double precision, label text, reason text, raw text, error_code text, error_detail text, truncated boolean, cached boolean, cache_key text, requests integer,
		model text, run_id uuid, duration_ms double precision, input_tokens bigint, output_tokens bigint, cache_read_tokens bigint, cache_write_tokens bigint,
		reasoning_tokens bigint, cost_nanousd bigint, created_at timestamptz)
	ON CONFLICT (evaluation_id, number, side, repeat, panel, judge, vote, swapped) DO NOTHING
	RETURNING number, status)
UPDATE evaluations e SET votes_done = e.votes_done + s.done, votes_failed = e.votes_failed + s.failed
FROM (SELECT count(*) AS done, count(*) FILTER (WHERE status <> 'ok') AS failed FROM stored WHERE number > 0) s
WHERE e.id = (SELECT id FROM owned)

-- name: stop judge
INSERT INTO evaluation_stopped_judges (evaluation_id, panel, judge, error_code, error_detail)
SELECT id, @panel, @judge, @error_code, @error_detail FROM evaluations
WHERE id = @id AND (attempt = @attempt AND status = 'running' OR leaving = @attempt AND status = 'cancelled')
ON CONFLICT (evaluation_id, panel, judge) DO NOTHING

-- name: forget stopped judges
DELETE FROM evaluation_stopped_judges WHERE evaluation_id = @id

-- name: store panel scores
UPDATE evaluation_outputs o SET scores = (
	SELECT coalesce(jsonb_agg(s), '[]') || r.scores FROM jsonb_array_elements(o.scores::jsonb) s WHERE s ->> 'name' <> ALL(@names::text[]))::text
FROM (SELECT id FROM evaluations WHERE id = @id AND attempt = @attempt FOR UPDATE) owned,
	json_to_recordset(@rows) AS r(number integer, side smallint, repeat smallint, scores jsonb)
WHERE o.evaluation_id = owned.id AND o.number = r.number AND o.side = r.side AND o.repeat = r.repeat

-- name: leave evaluation
UPDATE evaluations SET leaving = NULL WHERE id = @id AND leaving = @attempt

-- name: close evaluation
UPDATE evaluations SET leaving = NULL WHERE id = @id AND attempt = @attempt AND (leaving IS NULL OR @late)

-- name: keep estimate
UPDATE evaluations SET estimate = @estimate WHERE id = @id AND attempt = @attempt

-- name: store items
UPDATE evaluation_items i SET status = r.status, metrics = r.metrics
FROM (SELECT id FROM evaluations WHERE id = @id AND attempt = @attempt FOR UPDATE) owned, json_to_recordset(@rows) AS r(number integer, status text, metrics jsonb)
WHERE i.evaluation_id = owned.id AND i.number = r.number

-- name: end evaluation
UPDATE evaluations SET status = CASE WHEN status IN ('cancelled', 'succeeded') AND @status <> 'failed' THEN status ELSE @status END,
	primary_metric = coalesce(primary_metric, @primary), stop_reason = @stop_reason, error_code = @error_code, error_detail = @error_detail,
	accounting = @accounting, cost = @cost, summary = @summary,
	votes_skipped = coalesce(@votes_skipped::bigint, votes_skipped), votes_done = coalesce(@votes_done::bigint, votes_done),
	finished_at = CASE WHEN status IN ('cancelled', 'succeeded') THEN coalesce(finished_at, @now) ELSE @now END, attempt = NULL
WHERE id = @id AND attempt = @attempt

-- name: list waiting results
SELECT o.number, o.repeat, i.ordinal, o.status, o.output, o.message, o.run_id, o.run_lookup, o.duration_ms, o.input_tokens, o.output_tokens,
	o.cache_read_tokens,
	o.cache_write_tokens, o.reasoning_tokens, o.cost_nanousd, o.scores
FROM evaluation_outputs o JOIN evaluation_items i ON i.evaluation_id = o.evaluation_id AND i.number = o.number
WHERE o.evaluation_id = @id AND o.run_lookup IN ('waiting', 'ungraded') AND (o.number, o.repeat) > (@number, @repeat)
ORDER BY o.number, o.repeat LIMIT @limit

-- name: fill results
WITH owned AS (
	SELECT id FROM evaluations WHERE id = @id AND attempt = @attempt FOR UPDATE),
filled AS (
	UPDATE evaluation_outputs o SET run_lookup = nullif(r.run_lookup, ''), duration_ms = r.duration_ms, input_tokens = r.input_tokens, output_tokens = r.output_tokens,
		cache_read_tokens = r.cache_read_tokens, cache_write_tokens = r.cache_write_tokens, reasoning_tokens = r.reasoning_tokens, cost_nanousd = r.cost_nanousd,
		scores = r.scores
	FROM owned m, json_to_recordset(@rows) AS r(number integer, repeat smallint, run_lookup text, duration_ms double precision, input_tokens bigint,
		output_tokens bigint, cache_read_tokens bigint, cache_write_tokens bigint, reasoning_tokens bigint, cost_nanousd bigint, added_nanousd bigint, scores text)
	WHERE o.evaluation_id = m.id AND o.number = r.number AND o.side = 0 AND o.repeat = r.repeat AND o.run_lookup IN ('waiting', 'ungraded')
	RETURNING r.added_nanousd AS added)
UPDATE evaluations e SET results_cost_nanousd = e.results_cost_nanousd + s.cost, results_costed = e.results_costed + s.costed
FROM (SELECT coalesce(sum(added), 0) AS cost, count(added) AS costed FROM filled) s
WHERE e.id = (SELECT id FROM owned)

-- name: list source outputs
SELECT i.item_id, i.content_hash, o.number, o.side, o.repeat, o.status, o.error_code, o.error_detail, o.output, o.message, o.run_id, o.model, o.fingerprint,
	o.finish_reason, o.duration_ms, o.input_tokens, o.output_tokens, o.cache_read_tokens, o.cache_write_tokens, o.reasoning_tokens, o.cost_nanousd, o.requests,
	o.scores, o.created_at, o.run_lookup, o.run_failed, false AS output_cut
FROM evaluation_items i JOIN evaluation_outputs o ON o.evaluation_id = i.evaluation_id AND o.number = i.number
WHERE i.evaluation_id = @id AND i.item_id = ANY(@items)

-- name: begin summary
UPDATE evaluations SET attempt = @attempt WHERE id = @id AND status NOT IN ('queued', 'running') AND summary IS NOT NULL

-- name: find evaluation to be summarized
SELECT id FROM evaluations WHERE id = @id AND (status IN ('queued', 'running') OR status IN ('cancelled', 'succeeded') AND summary IS NULL)

-- name: replace summary
UPDATE evaluations SET summary = @summary, attempt = NULL WHERE id = @id AND attempt = @attempt

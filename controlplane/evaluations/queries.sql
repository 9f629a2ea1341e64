-- name: list evaluations
SELECT e.id, e.project_id, e.name, e.dataset_id, d.name AS dataset_name, e.revision, e.split, e.item_count, e.repeats, e.seed, e.config, e.primary_metric,
	e.max_cost_nanousd, e.allow_unpriced, e.status, e.stop_reason, e.error_code, e.error_detail, e.job_id, e.outputs_total, e.outputs_done,
	e.outputs_failed, e.outputs_skipped, e.votes_total, e.votes_done, e.votes_failed, e.votes_skipped, e.estimate, e.accounting, e.cost, e.summary, e.created_at, e.started_at, e.finished_at,
	u.email AS author_email, e.created_by_key AS author_key, e.created_by AS created_by_id, e.kind, e.branch, e.commit, e.metadata,
	e.outputs_skipped * e.item_count / e.outputs_total AS skipped_item_count, e.results_costed,
	CASE WHEN e.results_costed > 0 THEN (e.results_cost_nanousd / 1e9)::float8 END AS results_cost_usd,
	CASE WHEN e.accounting IS NULL THEN (
		SELECT json_object_agg(c.status, c.items) FROM (SELECT i.status, count(*) AS items FROM evaluation_items i WHERE i.evaluation_id = e.id GROUP BY i.status) c
	)::text END AS item_counts
FROM evaluations e JOIN datasets d ON d.id = e.dataset_id LEFT JOIN users u ON u.id = e.created_by
WHERE e.project_id = ANY(@projects) AND e.kind = @kind AND (@name = '' OR e.name = @name) AND (@branch = '' OR e.branch = @branch)
	AND (@commit = '' OR e.commit = @commit)
	AND (@dataset::uuid IS NULL OR e.dataset_id = @dataset) AND (@status = '' OR e.status = @status)
ORDER BY e.created_at DESC, e.id DESC LIMIT @limit OFFSET @offset

-- name: get evaluation
SELECT e.id, e.project_id, e.name, e.dataset_id, d.name AS dataset_name, e.revision, e.split, e.item_count, e.repeats, e.seed, e.config, e.primary_metric,
	e.max_cost_nanousd, e.allow_unpriced, e.status, e.stop_reason, e.error_code, e.error_detail, e.job_id, e.outputs_total, e.outputs_done,
	e.outputs_failed, e.outputs_skipped, e.votes_total, e.votes_done, e.votes_failed, e.votes_skipped, e.estimate, e.accounting, e.cost, e.summary, e.created_at, e.started_at, e.finished_at,
	u.email AS author_email, e.created_by_key AS author_key, e.created_by AS created_by_id, e.kind, e.branch, e.commit, e.metadata,
	e.outputs_skipped * e.item_count / e.outputs_total AS skipped_item_count, e.results_costed,
	CASE WHEN e.results_costed > 0 THEN (e.results_cost_nanousd / 1e9)::float8 END AS results_cost_usd,
	CASE WHEN e.accounting IS NULL THEN (
		SELECT json_object_agg(c.status, c.items) FROM (SELECT i.status, count(*) AS items FROM evaluation_items i WHERE i.evaluation_id = e.id GROUP BY i.status) c
	)::text END AS item_counts
FROM evaluations e JOIN datasets d ON d.id = e.dataset_id LEFT JOIN users u ON u.id = e.created_by
WHERE e.project_id = ANY(@projects) AND e.kind = @kind AND e.id = @id

-- name: create evaluation
INSERT INTO evaluations (id, project_id, kind, name, dataset_id, revision, split, item_count, repeats, seed, config, primary_metric, max_cost_nanousd,
	allow_unpriced, status, job_id, outputs_total, outputs_done, outputs_skipped, votes_total, votes_done, votes_skipped, estimate, a_eval_run_id, b_eval_run_id, source_eval_run_id, branch, commit, metadata,
	created_by, created_by_key, created_at, started_at)
VALUES (@id, @project, @kind, @name, @dataset, @revision, @split, @items, @repeats, @seed, @config, @primary, @max_cost,
	@allow_unpriced, @status, @job, @total, @skipped, @skipped, @votes, @votes_skipped, @votes_skipped, @estimate, @a_eval_run, @b_eval_run, @source_eval_run, @branch, @commit, @metadata,
	@author, @author_key, @now, @started)

-- name: rename evaluation
UPDATE evaluations SET name = @name WHERE project_id = ANY(@projects) AND kind = @kind AND id = @id

-- name: delete evaluation
DELETE FROM evaluations WHERE project_id = ANY(@projects) AND kind = @kind AND id = @id AND status NOT IN ('queued', 'running')

-- name: lock evaluation
SELECT id FROM evaluations WHERE project_id = ANY(@projects) AND kind = @kind AND id = @id FOR UPDATE

-- name: cancel evaluation
UPDATE evaluations SET status = 'cancelled', job_id = @job, leaving = attempt, attempt = NULL, finished_at = @now WHERE id = @id AND status IN ('queued', 'running')

-- name: remove failed outputs
WITH removed AS (
	DELETE FROM evaluation_outputs WHERE evaluation_id = @id AND status = 'failed' RETURNING number),
opened AS (
	UPDATE evaluation_items SET status = 'pending' WHERE evaluation_id = @id AND number IN (SELECT number FROM removed)),
counted AS (SELECT count(*) AS n FROM removed)
UPDATE evaluations e SET outputs_done = e.outputs_done - c.n, outputs_failed = e.outputs_failed - c.n FROM counted c WHERE e.id = @id

-- name: forget metrics
UPDATE evaluation_items SET metrics = NULL WHERE evaluation_id = @id AND metrics IS NOT NULL

-- name: resume evaluation
UPDATE evaluations SET status = 'queued', job_id = @job, attempt = NULL, leaving = NULL, stop_reason = NULL, error_code = NULL, error_detail = NULL,
	accounting = NULL, cost = NULL, summary = NULL, finished_at = NULL, votes_skipped = 0, votes_done = (
		SELECT count(*) FROM evaluation_votes v WHERE v.evaluation_id = @id AND v.number > 0), max_cost_nanousd = coalesce(@max_cost::bigint, max_cost_nanousd)
WHERE id = @id AND status NOT IN ('queued', 'running')

-- name: list lost evaluations
SELECT id, project_id, status NOT IN ('queued', 'running') AS ended FROM evaluations e
WHERE ((job_id IS NOT NULL AND status IN ('queued', 'running')) OR (status IN ('cancelled', 'succeeded') AND summary IS NULL)) AND coalesce(started_at, created_at) < @before
	AND NOT EXISTS (SELECT FROM river_job j WHERE j.id = e.job_id AND j.state NOT IN ('completed', 'cancelled', 'discarded'))

-- name: set job of evaluation
UPDATE evaluations SET job_id = @job
WHERE id = @id AND ((job_id IS NOT NULL AND status IN ('queued', 'running')) OR (status IN ('cancelled', 'succeeded') AND summary IS NULL))
	AND NOT EXISTS (SELECT FROM river_job j WHERE j.id = job_id AND j.state NOT IN ('completed', 'cancelled', 'discarded'))

-- name: begin evaluation
UPDATE evaluations SET status = CASE WHEN status IN ('cancelled', 'succeeded') THEN status ELSE 'running' END, attempt = @attempt, started_at = coalesce(started_at, @now)
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

-- name: read votes
SELECT number, side, repeat, panel, judge, vote, swapped, status, value, label, cached, cost_nanousd, duration_ms, requests
FROM evaluation_votes WHERE evaluation_id = @id AND number BETWEEN 0 AND @last ORDER BY number, side, repeat, panel, judge, vote, swapped

-- name: list votes
SELECT number, side, repeat, panel, judge, vote, swapped, status, value, label, reason, raw, error_code, error_detail, truncated, cached, requests, model, run_id,
	duration_ms, input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, reasoning_tokens, cost_nanousd, created_at
FROM evaluation_votes WHERE evaluation_id = @id AND number = ANY(@numbers) ORDER BY number, repeat, side, panel, judge, vote, swapped

-- name: stop judge
INSERT INTO evaluation_stopped_judges (evaluation_id, panel, judge, error_code, error_detail)
SELECT id, @panel, @judge, @error_code, @error_detail FROM evaluations
WHERE id = @id AND (attempt = @attempt AND status = 'running' OR leaving = @attempt AND status = 'cancelled')
ON CONFLICT (evaluation_id, panel, judge) DO NOTHING

-- name: list stopped judges
SELECT panel, judge, error_code, error_detail FROM evaluation_stopped_judges WHERE evaluation_id = @id

-- name: forget stopped judges
DELETE FROM evaluation_stopped_judges WHERE evaluation_id = @id

-- name: remove failed votes
WITH removed AS (
	DELETE FROM evaluation_votes WHERE evaluation_id = @id AND status <> 'ok' RETURNING number),
counted AS (SELECT count(*) FILTER (WHERE number > 0) AS n FROM removed)
UPDATE evaluations e SET votes_done = e.votes_done - c.n, votes_failed = e.votes_failed - c.n FROM counted c WHERE e.id = @id

-- name: list labels for statistics
SELECT i.number, o.side::integer AS side, o.repeat::integer AS repeat, l.author, l.value
FROM evaluation_labels l
JOIN evaluation_items i ON i.evaluation_id = @id AND i.content_hash = l.item_hash
JOIN evaluation_outputs o ON o.evaluation_id = i.evaluation_id AND o.number = i.number AND o.status = 'ok' AND sha256(convert_to(o.output, 'UTF8')) = l.output_hash
WHERE l.project_id = @project AND l.score = @score AND l.scale = @scale::jsonb
ORDER BY i.number, o.side, o.repeat, l.author

-- name: count labels on other scales
SELECT count(*) AS labels
FROM evaluation_labels l
WHERE l.project_id = @project AND l.score = @score AND l.scale IS DISTINCT FROM @scale::jsonb AND EXISTS (
	SELECT FROM evaluation_items i JOIN evaluation_outputs o ON o.evaluation_id = i.evaluation_id AND o.number = i.number AND o.status = 'ok'
	WHERE i.evaluation_id = @id AND i.content_hash = l.item_hash AND sha256(convert_to(o.output, 'UTF8')) = l.output_hash)

-- name: list scores before
SELECT i.number, o.repeat::integer AS repeat, (s -> 'evidence' ->> 'value')::float8 AS value
FROM evaluation_items i
JOIN evaluation_items b ON b.evaluation_id = @source AND b.item_id = i.item_id AND b.content_hash = i.content_hash
JOIN evaluation_outputs o ON o.evaluation_id = b.evaluation_id AND o.number = b.number AND o.side = 0
CROSS JOIN LATERAL jsonb_array_elements(o.scores::jsonb) s
WHERE i.evaluation_id = @id AND i.number = ANY(@numbers) AND s ->> 'name' = @score AND jsonb_typeof(s -> 'evidence' -> 'value') = 'number'
	AND EXISTS (
		SELECT FROM evaluations e, jsonb_path_query(e.config::jsonb, '$.panels[*]') AS p
		WHERE e.id = @source AND p ->> 'name' = @score AND p #> '{judges,0,definition,scale}' = @scale::jsonb)

-- name: store panel scores
UPDATE evaluation_outputs o SET scores = (
	SELECT coalesce(jsonb_agg(s), '[]') || r.scores FROM jsonb_array_elements(o.scores::jsonb) s WHERE s ->> 'name' <> ALL(@names::text[]))::text
FROM (SELECT id FROM evaluations WHERE id = @id AND attempt = @attempt FOR UPDATE) owned,
	json_to_recordset(@rows) AS r(number integer, side smallint, repeat smallint, scores jsonb)
WHERE o.evaluation_id = owned.id AND o.number = r.number AND o.side = r.side AND o.repeat = r.repeat

-- name: settle items
UPDATE evaluation_items i SET status = CASE
		WHEN m.outputs < @each THEN 'pending'
		WHEN m.without_output THEN 'target_failed'
		WHEN m.without_score AND (m.waiting OR @judged::boolean) THEN 'pending'
		WHEN m.without_score THEN 'judge_failed'
		ELSE 'scored' END
FROM (
	SELECT number, sum(outputs) AS outputs, bool_or(ok = 0) AS without_output, bool_or(scored = 0) AS without_score, bool_or(waiting) AS waiting
	FROM (
		SELECT o.number, o.side, count(*) AS outputs, count(*) FILTER (WHERE o.status = 'ok') AS ok,
			count(*) FILTER (WHERE o.status = 'ok' AND (@primary::text IS NULL OR EXISTS (
				SELECT FROM json_array_elements(o.scores::json) s WHERE s ->> 'name' = @primary AND s ->> 'score' IS NOT NULL))) AS scored,
			bool_or(o.run_lookup IN ('waiting', 'ungraded')) AS waiting
		FROM evaluation_outputs o WHERE o.evaluation_id = @id AND o.number = ANY(@numbers) GROUP BY o.number, o.side) AS sides
	GROUP BY number) m
WHERE i.evaluation_id = @id AND i.number = m.number AND i.status <> 'skipped'

-- name: leave evaluation
UPDATE evaluations SET leaving = NULL WHERE id = @id AND leaving = @attempt

-- name: close evaluation
UPDATE evaluations SET leaving = NULL WHERE id = @id AND attempt = @attempt AND (leaving IS NULL OR @late)

-- name: keep estimate
UPDATE evaluations SET estimate = @estimate WHERE id = @id AND attempt = @attempt

-- name: read results
SELECT o.number, o.side, o.repeat, o.status, o.error_code, o.scores, o.cost_nanousd, o.duration_ms, o.input_tokens, o.output_tokens, o.cache_read_tokens, o.model, o.fingerprint, o.run_lookup, o.run_failed, length(o.output) AS length
FROM evaluation_outputs o WHERE o.evaluation_id = @id AND o.number <= @last ORDER BY o.number, o.side, o.repeat

-- name: read item statuses
SELECT number, ordinal, item_id, content_hash, status, reason FROM evaluation_items WHERE evaluation_id = @id ORDER BY number

-- name: store items
UPDATE evaluation_items i SET status = r.status, metrics = r.metrics
FROM (SELECT id FROM evaluations WHERE id = @id AND attempt = @attempt FOR UPDATE) owned, json_to_recordset(@rows) AS r(number integer, status text, metrics jsonb)
WHERE i.evaluation_id = owned.id AND i.number = r.number

-- name: end evaluation
UPDATE evaluations SET status = CASE WHEN status IN ('cancelled', 'succeeded') AND @status <> 'failed' THEN status ELSE @status END, primary_metric = coalesce(primary_metric, @primary), stop_reason = @stop_reason, error_code = @error_code, error_detail = @error_detail,
	accounting = @accounting, cost = @cost, summary = @summary,
	votes_skipped = coalesce(@votes_skipped::bigint, votes_skipped), votes_done = coalesce(@votes_done::bigint, votes_done),
	finished_at = CASE WHEN status IN ('cancelled', 'succeeded') THEN coalesce(finished_at, @now) ELSE @now END, attempt = NULL
WHERE id = @id AND attempt = @attempt

-- name: list items
SELECT number, item_id, ordinal, key, status, reason, metrics::text AS metrics
FROM evaluation_items
WHERE evaluation_id = @id AND number > @after AND (@item::uuid IS NULL OR item_id = @item) AND (@numbers::integer[] IS NULL OR number = ANY(@numbers)) AND (@status = '' OR status = @status)
	AND (@outcome = '' OR metrics -> @metric ->> 'outcome' = @outcome)
	AND (@split = '' OR metrics -> @split -> 'split' IS NOT NULL)
ORDER BY (metrics -> nullif(@split, '') ->> 'split')::float8 DESC NULLS LAST,
	CASE WHEN @drawn_of::uuid IS NOT NULL THEN sha256(uuid_send(@drawn_of) || uuid_send(item_id)) END, number LIMIT @limit OFFSET @offset

-- name: list outputs
SELECT number, side, repeat, status, error_code, error_detail, CASE WHEN @longest::integer = 0 THEN output ELSE left(output, @longest) END AS output,
	coalesce(@longest > 0 AND length(output) > @longest, false) AS output_cut, CASE WHEN @longest = 0 THEN message END AS message, run_id, model, fingerprint, finish_reason, duration_ms, input_tokens, output_tokens,
	cache_read_tokens, cache_write_tokens, reasoning_tokens, cost_nanousd, requests, scores, created_at
FROM evaluation_outputs WHERE evaluation_id = @id AND number = ANY(@numbers) ORDER BY number, repeat, side

-- name: list worst items
SELECT number FROM evaluation_items
WHERE evaluation_id = @id AND (status IN ('target_failed', 'judge_failed') OR metrics -> @metric ->> 'outcome' = 'regressed')
ORDER BY status IN ('target_failed', 'judge_failed') DESC, abs((metrics -> @metric ->> 'b')::float8 - (metrics -> @metric ->> 'a')::float8) DESC NULLS FIRST, number
LIMIT @limit

-- name: count worst items
SELECT count(*) AS items FROM evaluation_items
WHERE evaluation_id = @id AND (status IN ('target_failed', 'judge_failed') OR metrics -> @metric ->> 'outcome' = 'regressed')

-- name: list worst items of eval-run
SELECT number FROM evaluation_items
WHERE evaluation_id = @id AND (status IN ('target_failed', 'judge_failed') OR metrics @? '$.*.split' OR (metrics -> @metric ->> 'a')::float8 < 1)
ORDER BY status IN ('target_failed', 'judge_failed') DESC, (metrics -> @metric ->> 'a')::float8 - coalesce((metrics -> @metric ->> 'split')::float8, 0) NULLS FIRST, number
LIMIT @limit

-- name: count worst items of eval-run
SELECT count(*) AS items FROM evaluation_items
WHERE evaluation_id = @id AND (status IN ('target_failed', 'judge_failed') OR metrics @? '$.*.split' OR (metrics -> @metric ->> 'a')::float8 < 1)

-- name: finish evaluation
UPDATE evaluations SET status = 'succeeded', job_id = @job, finished_at = @now WHERE id = @id AND status = 'running'

-- name: judge evaluation
UPDATE evaluations SET status = 'queued', job_id = @job, finished_at = @now WHERE id = @id AND status = 'running' AND job_id IS NULL

-- name: list item ids
SELECT item_id FROM evaluation_items WHERE evaluation_id = @id ORDER BY ordinal

-- name: list labelled items
SELECT DISTINCT i.item_id
FROM evaluation_labels l
JOIN evaluation_items i ON i.evaluation_id = @id AND i.content_hash = l.item_hash
JOIN evaluation_outputs o ON o.evaluation_id = i.evaluation_id AND o.number = i.number AND sha256(convert_to(o.output, 'UTF8')) = l.output_hash
WHERE l.project_id = @project

-- name: find items by id
SELECT number, item_id, ordinal FROM evaluation_items WHERE evaluation_id = @id AND item_id = ANY(@items)

-- name: find results
SELECT o.number, o.repeat, o.status, o.result_hash, o.cost_nanousd FROM evaluation_outputs o
WHERE o.evaluation_id = @id AND (o.number, o.repeat) IN (SELECT * FROM unnest(@numbers::integer[], @repeats::smallint[]))

-- name: add results
INSERT INTO evaluation_outputs (evaluation_id, number, side, repeat, status, error_code, error_detail, output, message, run_id, model, fingerprint,
	finish_reason, duration_ms, input_tokens, output_tokens, cost_nanousd, requests, scores, result_hash, run_lookup, created_at, run_failed)
SELECT @id, r.number, r.side, r.repeat, r.status, r.error_code, r.error_detail, r.output, r.message, r.run_id, r.model, NULL,
	NULL, r.duration_ms, r.input_tokens, r.output_tokens, r.cost_nanousd, r.requests, r.scores, decode(r.result_hash, 'hex'), r.run_lookup, r.created_at, r.run_failed
FROM json_to_recordset(@rows) AS r(number integer, side smallint, repeat smallint, status text, error_code text, error_detail text, output text, message text,
	run_id uuid, model text, duration_ms double precision, input_tokens bigint, output_tokens bigint, cost_nanousd bigint, requests integer, scores text,
	result_hash text, run_lookup text, created_at timestamptz, run_failed boolean)
ON CONFLICT (evaluation_id, number, side, repeat) DO UPDATE SET status = excluded.status, error_code = excluded.error_code, error_detail = excluded.error_detail,
	output = excluded.output, message = excluded.message, run_id = excluded.run_id, model = excluded.model, duration_ms = excluded.duration_ms,
	input_tokens = excluded.input_tokens, output_tokens = excluded.output_tokens, cost_nanousd = excluded.cost_nanousd, scores = excluded.scores,
	result_hash = excluded.result_hash, run_lookup = excluded.run_lookup, created_at = excluded.created_at,
	run_failed = excluded.run_failed

-- name: count results
UPDATE evaluations SET outputs_done = outputs_done + @added, outputs_failed = outputs_failed + @failed,
	results_cost_nanousd = results_cost_nanousd + @cost, results_costed = results_costed + @costed
WHERE id = @id

-- name: list missing results
SELECT i.item_id, i.key, array_agg(r.repeat ORDER BY r.repeat) AS repeats
FROM evaluation_items i, generate_series(1, @repeats::integer) AS r(repeat)
WHERE i.evaluation_id = @id AND NOT EXISTS (
	SELECT FROM evaluation_outputs o WHERE o.evaluation_id = i.evaluation_id AND o.number = i.number AND o.side = 0 AND o.repeat = r.repeat)
GROUP BY i.number, i.item_id, i.key ORDER BY i.number LIMIT @limit

-- name: list waiting results
SELECT o.number, o.repeat, i.ordinal, o.status, o.output, o.message, o.run_id, o.run_lookup, o.duration_ms, o.input_tokens, o.output_tokens, o.cache_read_tokens,
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

-- name: list labels of items
SELECT i.number, o.side::integer AS side, o.repeat::integer AS repeat, l.score, l.author, u.email, l.key_name, l.value, l.label, l.note, l.created_at
FROM evaluation_labels l
JOIN unnest(@scores::text[], @scales::text[]) AS p(score, scale) ON p.score = l.score AND p.scale::jsonb = l.scale
JOIN evaluation_items i ON i.evaluation_id = @id AND i.content_hash = l.item_hash
JOIN evaluation_outputs o ON o.evaluation_id = i.evaluation_id AND o.number = i.number AND o.status = 'ok' AND sha256(convert_to(o.output, 'UTF8')) = l.output_hash
LEFT JOIN users u ON u.id = l.user_id
WHERE l.project_id = @project AND i.number = ANY(@numbers)
ORDER BY i.number, o.repeat, o.side, l.score, l.created_at, l.author

-- name: find output to label
SELECT i.content_hash AS item_hash, sha256(convert_to(o.output, 'UTF8')) AS output_hash
FROM evaluation_items i JOIN evaluation_outputs o ON o.evaluation_id = i.evaluation_id AND o.number = i.number
WHERE i.evaluation_id = @id AND i.item_id = @item AND o.side = @side AND o.repeat = @repeat AND o.status = 'ok' AND o.output IS NOT NULL

-- name: put label
WITH replaced AS (
	DELETE FROM evaluation_labels
	WHERE project_id = @project AND score = @score AND item_hash = @item_hash AND output_hash = @output_hash AND author = @author AND scale IS NULL)
INSERT INTO evaluation_labels (project_id, score, item_hash, output_hash, author, user_id, key_name, scale, value, label, note, created_at)
VALUES (@project, @score, @item_hash, @output_hash, @author, @user, @key_name, @scale::jsonb, @value, @label, @note, @now)
ON CONFLICT (project_id, score, item_hash, output_hash, author, scale_hash) DO UPDATE SET value = excluded.value, label = excluded.label, note = excluded.note, created_at = excluded.created_at

-- name: delete label
DELETE FROM evaluation_labels
WHERE project_id = @project AND score = @score AND item_hash = @item_hash AND output_hash = @output_hash AND author = @author
	AND (scale = @scale::jsonb OR scale IS NULL)

-- name: lock labelled evaluations
SELECT e.id, e.project_id FROM evaluations e
WHERE e.project_id = @project AND e.dataset_id = @dataset AND e.votes_total > 0 AND e.job_id IS NOT NULL
	AND e.config::jsonb -> 'panels' @> jsonb_build_array(jsonb_build_object('name', @score::text))
	AND EXISTS (
		SELECT FROM evaluation_items i JOIN evaluation_outputs o ON o.evaluation_id = i.evaluation_id AND o.number = i.number AND o.status = 'ok'
		WHERE i.evaluation_id = e.id AND i.item_id = @item AND i.content_hash = @item_hash AND sha256(convert_to(o.output, 'UTF8')) = @output_hash)
ORDER BY e.id FOR UPDATE OF e

-- name: list evaluations to summarize again
SELECT e.id, e.project_id FROM evaluations e
WHERE e.id = ANY (@ids) AND NOT EXISTS (
	SELECT FROM river_job j
	WHERE j.kind = @job AND j.state IN ('available', 'pending', 'retryable', 'scheduled') AND j.args ->> 'evaluation_id' = e.id::text)

-- name: begin summary
UPDATE evaluations SET attempt = @attempt WHERE id = @id AND status NOT IN ('queued', 'running') AND summary IS NOT NULL

-- name: find evaluation to be summarized
SELECT id FROM evaluations WHERE id = @id AND (status IN ('queued', 'running') OR status IN ('cancelled', 'succeeded') AND summary IS NULL)

-- name: replace summary
UPDATE evaluations SET summary = @summary, attempt = NULL WHERE id = @id AND attempt = @attempt

-- name: create growing evaluation
INSERT INTO evaluations (id, project_id, kind, name, dataset_id, revision, item_count, repeats, seed, config, allow_unpriced, status, outputs_total, estimate,
	metadata, created_by, created_by_key, created_at, started_at)
VALUES (@id, @project, @kind, @name, @dataset, @revision, @items, 1, 0, @config, true, @status, @items, '{}', @metadata, @author, @author_key, @now, @now)
ON CONFLICT (id) DO NOTHING

-- name: reopen evaluation
UPDATE evaluations SET status = 'running', job_id = NULL, attempt = NULL, stop_reason = NULL, error_code = NULL, error_detail = NULL,
	accounting = NULL, cost = NULL, summary = NULL, finished_at = NULL
WHERE id = @id AND status = 'succeeded'

-- name: list contents
SELECT ordinal, content_hash FROM evaluation_items WHERE evaluation_id = @id

-- name: add items
INSERT INTO evaluation_items (evaluation_id, number, item_id, ordinal, key, content_hash)
SELECT @id, (SELECT coalesce(max(number), 0) FROM evaluation_items WHERE evaluation_id = @id) + row_number() OVER (ORDER BY n.place), n.item, n.ordinal, n.key, n.hash
FROM unnest(@items::uuid[], @ordinals::bigint[], @keys::text[], @hashes::bytea[]) WITH ORDINALITY AS n (item, ordinal, key, hash, place)
WHERE NOT EXISTS (SELECT FROM evaluation_items i WHERE i.evaluation_id = @id AND i.item_id = n.item)

-- name: count items
UPDATE evaluations e SET revision = @revision, item_count = c.items, outputs_total = c.items * e.repeats
FROM (SELECT count(*) AS items FROM evaluation_items WHERE evaluation_id = @id) c WHERE e.id = @id

-- name: find items by key
SELECT i.key, i.item_id FROM evaluation_items i JOIN evaluations e ON e.id = i.evaluation_id
WHERE e.project_id = ANY(@projects) AND e.kind = @kind AND e.id = @id AND i.key = ANY(@keys)

-- name: describe evaluation
UPDATE evaluations SET metadata = @metadata WHERE project_id = ANY(@projects) AND kind = @kind AND id = @id

-- name: list eval-runs of a trend
SELECT e.id FROM evaluations l
JOIN evaluations e ON e.project_id = l.project_id AND e.dataset_id = l.dataset_id AND e.kind = l.kind AND e.name = l.name AND (e.created_at, e.id) <= (l.created_at, l.id)
WHERE l.id = @id AND e.status = 'succeeded' AND e.summary IS NOT NULL AND NOT (e.summary::jsonb ->> 'partial')::boolean AND EXISTS (
	SELECT FROM jsonb_array_elements(e.summary::jsonb -> 'scores') s WHERE s ->> 'name' = @metric AND jsonb_typeof(s -> 'mean') = 'number')
ORDER BY e.created_at DESC, e.id DESC LIMIT @limit

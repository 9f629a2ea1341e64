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

-- name: rename evaluation
UPDATE evaluations SET name = @name WHERE project_id = ANY(@projects) AND kind = @kind AND id = @id

-- name: delete evaluation
DELETE FROM evaluations WHERE project_id = ANY(@projects) AND kind = @kind AND id = @id AND status NOT IN ('queued', 'running')

-- name: lock evaluation
SELECT id FROM evaluations WHERE project_id = ANY(@projects) AND kind = @kind AND id = @id FOR UPDATE

-- name: cancel evaluation
UPDATE evaluations SET status = 'cancelled', job_id = @job, leaving = attempt, attempt = NULL, finished_at = @now WHERE id = @id AND status IN ('queued', 'running')

-- name: list votes
SELECT number, side, repeat, panel, judge, vote, swapped, status, value, label, reason, raw, error_code, error_detail, truncated, cached, requests, model, run_id,
	duration_ms, input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, reasoning_tokens, cost_nanousd, created_at
FROM evaluation_votes WHERE evaluation_id = @id AND number = ANY(@numbers) ORDER BY number, repeat, side, panel, judge, vote, swapped

-- name: complete items
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

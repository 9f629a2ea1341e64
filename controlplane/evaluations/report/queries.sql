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

-- name: list eval-runs of a trend
SELECT e.id FROM evaluations l
JOIN evaluations e ON e.project_id = l.project_id AND e.dataset_id = l.dataset_id AND e.kind = l.kind AND e.name = l.name AND (e.created_at, e.id) <= (l.created_at, l.id)
WHERE l.id = @id AND e.status = 'succeeded' AND e.summary IS NOT NULL AND NOT (e.summary::jsonb ->> 'partial')::boolean AND EXISTS (
	SELECT FROM jsonb_array_elements(e.summary::jsonb -> 'scores') s WHERE s ->> 'name' = @metric AND jsonb_typeof(s -> 'mean') = 'number')
ORDER BY e.created_at DESC, e.id DESC LIMIT @limit

SELECT project_id, run_id, min(first_start) AS first_start, max(last_start) AS last_start, max(deleted_at) AS deleted_at
		FROM run_bounds WHERE project_id = '11111111-1111-4111-8111-111111111111'
	AND run_id IN (?) GROUP BY project_id, run_id;
-- arguments: [[22222222-2222-4222-8222-222222222222]]

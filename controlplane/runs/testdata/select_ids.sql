SELECT run_id, span_count FROM runs FINAL WHERE project_id = '11111111-1111-4111-8111-111111111111'
	AND run_id IN (?)
		ORDER BY start_time DESC, run_id DESC LIMIT ?;
-- arguments: [[22222222-2222-4222-8222-222222222222] 1]

SELECT project_id, first_start, last_start, deleted_at, absent FROM run_bounds WHERE project_id = '11111111-1111-4111-8111-111111111111'
	AND run_id = ?;
-- arguments: [22222222-2222-4222-8222-222222222222]

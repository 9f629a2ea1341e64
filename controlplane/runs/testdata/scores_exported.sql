SELECT project_id, run_id, score_id, version, deleted, span_id, name, value_kind, number, label, comment, source,
	author_kind, author_id, author_name, created_at FROM scores FINAL WHERE project_id = '11111111-1111-4111-8111-111111111111'
	AND run_id = ?
	AND version > ?
		ORDER BY version DESC, score_id LIMIT ? BY span_id LIMIT ?;
-- arguments: [22222222-2222-4222-8222-222222222222 7 100 10000]

SELECT project_id, run_id, score_id, version, deleted, span_id, substring(name, 1, 801) AS name, value_kind, number, substring(label, 1, 801) AS label, substring(comment, 1, 257) AS comment, source, author_kind, author_id, substring(author_name, 1, 801) AS author_name, created_at, count() OVER (PARTITION BY project_id, run_id) AS total
		FROM scores FINAL WHERE project_id = '11111111-1111-4111-8111-111111111111'
	AND run_id IN (?)
	AND version > ?
		ORDER BY version DESC, score_id LIMIT ? BY project_id, run_id;
-- arguments: [[22222222-2222-4222-8222-222222222222] 0 20]

SELECT project_id, first_start, last_start, deleted_at, absent FROM run_bounds WHERE project_id = '11111111-1111-4111-8111-111111111111'
	AND run_id = ?;
-- arguments: [22222222-2222-4222-8222-222222222222]
SELECT run_id FROM runs FINAL WHERE project_id = '11111111-1111-4111-8111-111111111111'
	AND start_time >= fromUnixTimestamp64Nano(?)
	AND toStartOfHour(start_time) >= toStartOfHour(fromUnixTimestamp64Nano(?, 'UTC'))
	AND start_time < fromUnixTimestamp64Nano(?)
	AND toStartOfHour(start_time) <= toStartOfHour(fromUnixTimestamp64Nano(?, 'UTC'))
	AND run_id = ? LIMIT 1;
-- arguments: [1772967600000000000 1772967600000000000 1772974800000000000 1772974799999999999 22222222-2222-4222-8222-222222222222]
SELECT project_id, run_id, score_id, version, deleted, span_id, substring(name, 1, 801) AS name, value_kind, number, substring(label, 1, 801) AS label, substring(comment, 1, 16385) AS comment, source, author_kind, author_id, substring(author_name, 1, 801) AS author_name, created_at FROM scores FINAL WHERE project_id = '11111111-1111-4111-8111-111111111111'
	AND run_id = ?
	AND span_id = ?
		ORDER BY version DESC, score_id LIMIT ? OFFSET ?;
-- arguments: [22222222-2222-4222-8222-222222222222 1 11 20]

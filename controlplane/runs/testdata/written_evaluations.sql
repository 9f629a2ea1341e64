SELECT now64(3, 'UTC') AS now FROM (SELECT count() FROM runs WHERE project_id = '11111111-1111-4111-8111-111111111111'
	AND toStartOfHour(start_time) < toDateTime(1));
-- arguments: []
SELECT DISTINCT project_id, run_id, written_at AS written FROM runs WHERE project_id = '11111111-1111-4111-8111-111111111111'
	AND source = ?
	AND written_at >= fromUnixTimestamp64Milli(?)
	AND (written_at, project_id, run_id) > (fromUnixTimestamp64Milli(?), ?, ?)
		ORDER BY written, project_id, run_id LIMIT ?;
-- arguments: [evaluation 1772972940000 1772972940000 11111111-1111-4111-8111-111111111111 22222222-2222-4222-8222-222222222222 100]

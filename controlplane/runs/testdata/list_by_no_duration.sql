SELECT min(start_time) AS first, max(start_time) AS last FROM runs WHERE project_id = '11111111-1111-4111-8111-111111111111'
	AND start_time >= fromUnixTimestamp64Nano(?)
	AND toStartOfHour(start_time) >= toStartOfHour(fromUnixTimestamp64Nano(?, 'UTC'))
	AND start_time < fromUnixTimestamp64Nano(?)
	AND toStartOfHour(start_time) <= toStartOfHour(fromUnixTimestamp64Nano(?, 'UTC')) HAVING count() > 0;
-- arguments: [1772971200000000000 1772971200000000000 1772973000000000000 1772972999999999999]
SELECT run_id, start_time, value FROM (
			SELECT run_id, start_time, if(toUnixTimestamp64Nano(end_time) != 0, toUnixTimestamp64Nano(end_time) - toUnixTimestamp64Nano(start_time), NULL) AS value FROM runs FINAL WHERE project_id = '11111111-1111-4111-8111-111111111111'
	AND start_time >= fromUnixTimestamp64Nano(?)
	AND toStartOfHour(start_time) >= toStartOfHour(fromUnixTimestamp64Nano(?, 'UTC'))
	AND start_time < fromUnixTimestamp64Nano(?)
	AND toStartOfHour(start_time) <= toStartOfHour(fromUnixTimestamp64Nano(?, 'UTC'))
	AND genai
	AND source = ?
		) WHERE value IS NULL
	AND (start_time, run_id) < (fromUnixTimestamp64Nano(?), toUUID(?)) ORDER BY value ASC NULLS LAST, start_time DESC, run_id DESC LIMIT ? OFFSET ?;
-- arguments: [1772971200000000000 1772971200000000000 1772973000000000000 1772972999999999999 user 1772972940000000000 22222222-2222-4222-8222-222222222222 51 0]

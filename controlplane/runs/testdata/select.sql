SELECT count() AS runs FROM runs FINAL WHERE project_id = '11111111-1111-4111-8111-111111111111'
	AND start_time >= fromUnixTimestamp64Nano(?)
	AND toStartOfHour(start_time) >= toStartOfHour(fromUnixTimestamp64Nano(?, 'UTC'))
	AND start_time < fromUnixTimestamp64Nano(?)
	AND toStartOfHour(start_time) <= toStartOfHour(fromUnixTimestamp64Nano(?, 'UTC'))
	AND genai
	AND source = ?
	AND first_received < fromUnixTimestamp64Nano(?);
-- arguments: [1772971200000000000 1772971200000000000 1772973000000000000 1772972999999999999 user 1772973000000000000]
SELECT run_id, span_count FROM runs FINAL WHERE project_id = '11111111-1111-4111-8111-111111111111'
	AND start_time >= fromUnixTimestamp64Nano(?)
	AND toStartOfHour(start_time) >= toStartOfHour(fromUnixTimestamp64Nano(?, 'UTC'))
	AND start_time < fromUnixTimestamp64Nano(?)
	AND toStartOfHour(start_time) <= toStartOfHour(fromUnixTimestamp64Nano(?, 'UTC'))
	AND genai
	AND source = ?
	AND first_received < fromUnixTimestamp64Nano(?)
		ORDER BY start_time DESC, run_id DESC LIMIT ?;
-- arguments: [1772971200000000000 1772971200000000000 1772973000000000000 1772972999999999999 user 1772973000000000000 10]

SELECT NULL::Nullable(Int64) AS value, {runColumns} FROM runs FINAL WHERE project_id = '11111111-1111-4111-8111-111111111111'
	AND start_time >= fromUnixTimestamp64Nano(?)
	AND toStartOfHour(start_time) >= toStartOfHour(fromUnixTimestamp64Nano(?, 'UTC'))
	AND start_time < fromUnixTimestamp64Nano(?)
	AND toStartOfHour(start_time) <= toStartOfHour(fromUnixTimestamp64Nano(?, 'UTC'))
	AND (start_time, run_id) > (fromUnixTimestamp64Nano(?), toUUID(?))
	AND genai
	AND source = ? ORDER BY start_time ASC, run_id ASC LIMIT ? OFFSET ? SETTINGS max_result_bytes = 16777216;
-- arguments: [1772972940000000000 1772972940000000000 1772973000000000000 1772972999999999999 1772972940000000000 22222222-2222-4222-8222-222222222222 user 51 0]

SELECT NULL::Nullable(Int64) AS value, {runColumns} FROM runs FINAL WHERE project_id = '11111111-1111-4111-8111-111111111111'
	AND start_time >= fromUnixTimestamp64Nano(?)
	AND toStartOfHour(start_time) >= toStartOfHour(fromUnixTimestamp64Nano(?, 'UTC'))
	AND start_time < fromUnixTimestamp64Nano(?)
	AND toStartOfHour(start_time) <= toStartOfHour(fromUnixTimestamp64Nano(?, 'UTC'))
	AND genai
	AND source = ? ORDER BY start_time DESC, run_id DESC LIMIT ? OFFSET ?;
-- arguments: [1772971200000000000 1772971200000000000 1772973000000000000 1772972999999999999 user 51 0]

SELECT fingerprint, least(intDiv(toUnixTimestamp64Nano(start_time) - ?, ?), ?) AS part, count() AS runs FROM runs FINAL WHERE project_id = '11111111-1111-4111-8111-111111111111'
	AND start_time >= fromUnixTimestamp64Nano(?)
	AND toStartOfHour(start_time) >= toStartOfHour(fromUnixTimestamp64Nano(?, 'UTC'))
	AND start_time < fromUnixTimestamp64Nano(?)
	AND toStartOfHour(start_time) <= toStartOfHour(fromUnixTimestamp64Nano(?, 'UTC'))
	AND genai
	AND source = ?
	AND agent_name = ?
	AND fingerprint IN (?) GROUP BY fingerprint, part ORDER BY fingerprint, part;
-- arguments: [1772886600000000000 3600000000000 23 1772886600000000000 1772886600000000000 1772973000000000000 1772972999999999999 user a [f g]]

SELECT run_id, toStartOfHour(start_time) AS hour, max(version) AS version, max(written_at) AS written
		FROM runs WHERE project_id = '11111111-1111-4111-8111-111111111111'
	AND start_time >= fromUnixTimestamp64Nano(?)
	AND toStartOfHour(start_time) >= toStartOfHour(fromUnixTimestamp64Nano(?, 'UTC'))
	AND written_at >= fromUnixTimestamp64Milli(?) GROUP BY run_id, hour ORDER BY written LIMIT ?;
-- arguments: [1770379200000000000 1770379200000000000 1772972940000 101]

SELECT project_id, run_id, written_at AS written, name FROM runs FINAL WHERE project_id = '11111111-1111-4111-8111-111111111111'
	AND start_time >= fromUnixTimestamp64Nano(?)
	AND toStartOfHour(start_time) >= toStartOfHour(fromUnixTimestamp64Nano(?, 'UTC'))
	AND start_time < fromUnixTimestamp64Nano(?)
	AND toStartOfHour(start_time) <= toStartOfHour(fromUnixTimestamp64Nano(?, 'UTC'))
	AND run_id IN (SELECT run_id FROM runs WHERE project_id = '11111111-1111-4111-8111-111111111111'
	AND start_time >= fromUnixTimestamp64Nano(?)
	AND toStartOfHour(start_time) >= toStartOfHour(fromUnixTimestamp64Nano(?, 'UTC'))
	AND start_time < fromUnixTimestamp64Nano(?)
	AND toStartOfHour(start_time) <= toStartOfHour(fromUnixTimestamp64Nano(?, 'UTC'))
	AND written_at BETWEEN fromUnixTimestamp64Milli(?)
	AND fromUnixTimestamp64Milli(?)
	AND sipHash64(toUUID(?), run_id) < toUInt64(?))
	AND identity(written_at) <= fromUnixTimestamp64Milli(?)
	AND (identity(written_at), run_id) > (fromUnixTimestamp64Milli(?), ?)
	AND status != ?
	AND greatest(end_time, start_time) >= fromUnixTimestamp64Nano(?)
	AND genai
	AND source = ?
	AND agent_name = ?
		ORDER BY written, run_id LIMIT ?;
-- arguments: [1772967600000000000 1772967600000000000 1772974800000000000 1772974799999999999 1772967600000000000 1772967600000000000 1772974800000000000 1772974799999999999 1772972940000 1772973000000 22222222-2222-4222-8222-222222222222 4611686018427387904 1772973000000 1772972940000 22222222-2222-4222-8222-222222222222 running 1772886600000000000 user a 100]

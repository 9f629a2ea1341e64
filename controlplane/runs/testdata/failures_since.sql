WITH source = 'user' AS own
		SELECT fingerprint, countIf(own) AS runs, minIf(start_time, own) AS first, argMinIf(run_id, (start_time, run_id), own) AS first_run FROM runs FINAL WHERE project_id = '11111111-1111-4111-8111-111111111111'
	AND start_time >= fromUnixTimestamp64Nano(?)
	AND toStartOfHour(start_time) >= toStartOfHour(fromUnixTimestamp64Nano(?, 'UTC'))
	AND start_time < fromUnixTimestamp64Nano(?)
	AND toStartOfHour(start_time) <= toStartOfHour(fromUnixTimestamp64Nano(?, 'UTC'))
	AND fingerprint IN (?)
	AND toUnixTimestamp64Nano(start_time) > transform(toString(fingerprint), ?, ?, toInt64(0)) GROUP BY fingerprint ORDER BY fingerprint;
-- arguments: [1772965800000000000 1772965800000000000 1772973000000000000 1772972999999999999 [f g] [f g] [1772969400000000000 1772965800000000000]]

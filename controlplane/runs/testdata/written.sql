SELECT now64(3, 'UTC') AS now FROM (SELECT count() FROM runs WHERE project_id = '11111111-1111-4111-8111-111111111111'
	AND toStartOfHour(start_time) < toDateTime(1));
-- arguments: []
SELECT project_id, min(toStartOfHour(start_time)) AS first, max(toStartOfHour(start_time)) AS last FROM runs
		WHERE project_id = '11111111-1111-4111-8111-111111111111'
	AND start_time >= fromUnixTimestamp64Nano(?)
	AND toStartOfHour(start_time) >= toStartOfHour(fromUnixTimestamp64Nano(?, 'UTC'))
	AND written_at BETWEEN fromUnixTimestamp64Milli(?)
	AND fromUnixTimestamp64Milli(?) GROUP BY project_id;
-- arguments: [1770379200000000000 1770379200000000000 1772972940000 1772973000000]

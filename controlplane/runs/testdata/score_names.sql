SELECT min(start_time) AS first, max(start_time) AS last FROM runs WHERE project_id = '11111111-1111-4111-8111-111111111111'
	AND start_time >= fromUnixTimestamp64Nano(?)
	AND toStartOfHour(start_time) >= toStartOfHour(fromUnixTimestamp64Nano(?, 'UTC'))
	AND start_time < fromUnixTimestamp64Nano(?)
	AND toStartOfHour(start_time) <= toStartOfHour(fromUnixTimestamp64Nano(?, 'UTC')) HAVING count() > 0;
-- arguments: [1772971200000000000 1772971200000000000 1772973000000000000 1772972999999999999]
SELECT toString(name) AS value, uniqExact(run_id) AS runs FROM scores FINAL
	WHERE project_id = '11111111-1111-4111-8111-111111111111'
	AND value_kind != ''
	AND (value_kind = 'category' OR isFinite(ifNull(number, nan)))
	AND run_id IN (SELECT run_id FROM runs FINAL WHERE project_id = '11111111-1111-4111-8111-111111111111'
	AND start_time >= fromUnixTimestamp64Nano(?)
	AND toStartOfHour(start_time) >= toStartOfHour(fromUnixTimestamp64Nano(?, 'UTC'))
	AND start_time < fromUnixTimestamp64Nano(?)
	AND toStartOfHour(start_time) <= toStartOfHour(fromUnixTimestamp64Nano(?, 'UTC'))
	AND genai
	AND source = ?)
			GROUP BY value HAVING value != ''
	AND length(value) <= 4000
	AND startsWith(lowerUTF8(value), lowerUTF8(?)) ORDER BY runs DESC, value LIMIT ?;
-- arguments: [1772971200000000000 1772971200000000000 1772973000000000000 1772972999999999999 user re 11]

SELECT * EXCEPT escaped_words FROM spans WHERE project_id = '11111111-1111-4111-8111-111111111111'
	AND start_time >= fromUnixTimestamp64Nano(?)
	AND toStartOfHour(start_time) >= toStartOfHour(fromUnixTimestamp64Nano(?, 'UTC'))
	AND start_time < fromUnixTimestamp64Nano(?)
	AND toStartOfHour(start_time) <= toStartOfHour(fromUnixTimestamp64Nano(?, 'UTC'))
	AND run_id IN (?)
	AND span_id IN (?);
-- arguments: [1772967600000000000 1772967600000000000 1772974800000000000 1772974799999999999 [22222222-2222-4222-8222-222222222222] [1]]

SELECT min(start_time) AS first, max(start_time) AS last FROM runs WHERE project_id = '11111111-1111-4111-8111-111111111111'
	AND start_time >= fromUnixTimestamp64Nano(?)
	AND toStartOfHour(start_time) >= toStartOfHour(fromUnixTimestamp64Nano(?, 'UTC'))
	AND start_time < fromUnixTimestamp64Nano(?)
	AND toStartOfHour(start_time) <= toStartOfHour(fromUnixTimestamp64Nano(?, 'UTC')) HAVING count() > 0;
-- arguments: [1772971200000000000 1772971200000000000 1772973000000000000 1772972999999999999]
SELECT run_id, start_time, value FROM (
			SELECT run_id, start_time, if(input_tokens IS NULL
	AND output_tokens IS NULL
	AND other_tokens IS NULL, NULL, coalesce(input_tokens, 0) + coalesce(output_tokens, 0) + coalesce(other_tokens, 0)) AS value FROM runs FINAL WHERE project_id = '11111111-1111-4111-8111-111111111111'
	AND start_time >= fromUnixTimestamp64Nano(?)
	AND toStartOfHour(start_time) >= toStartOfHour(fromUnixTimestamp64Nano(?, 'UTC'))
	AND start_time < fromUnixTimestamp64Nano(?)
	AND toStartOfHour(start_time) <= toStartOfHour(fromUnixTimestamp64Nano(?, 'UTC'))
	AND genai
	AND source = ?
		) WHERE true ORDER BY value ASC NULLS LAST, start_time DESC, run_id DESC LIMIT ? OFFSET ?;
-- arguments: [1772971200000000000 1772971200000000000 1772973000000000000 1772972999999999999 user 51 0]
SELECT {runColumns} FROM runs FINAL WHERE project_id = '11111111-1111-4111-8111-111111111111'
	AND run_id IN (?)
	AND toUnixTimestamp(toStartOfHour(start_time)) IN (?)
	AND toYYYYMMDD(start_time) IN (?)  SETTINGS max_result_bytes = 16777216;
-- arguments: [[22222222-2222-4222-8222-222222222222] [1772971200] [20260308]]

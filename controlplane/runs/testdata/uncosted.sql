SELECT substring(provider, 1, 1025) AS provider, substring(request_model, 1, 1025) AS request_model,
			substring(response_model, 1, 1025) AS response_model, count() AS spans, max(start_time) AS last_start
		FROM spans WHERE project_id = '11111111-1111-4111-8111-111111111111'
	AND start_time >= fromUnixTimestamp64Nano(?)
	AND toStartOfHour(start_time) >= toStartOfHour(fromUnixTimestamp64Nano(?, 'UTC'))
	AND start_time < fromUnixTimestamp64Nano(?)
	AND toStartOfHour(start_time) <= toStartOfHour(fromUnixTimestamp64Nano(?, 'UTC'))
	AND (input_tokens IS NOT NULL OR output_tokens IS NOT NULL)
	AND cost_usd IS NULL
	AND other_tokens IS NULL
		GROUP BY provider, request_model, response_model
		ORDER BY spans DESC, last_start DESC LIMIT ?;
-- arguments: [1772884800000000000 1772884800000000000 1772978400000000000 1772978399999999999 1000]

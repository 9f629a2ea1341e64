SELECT its_version AS version, count() AS calls, countIf(failed) AS errors,
				hex(quantileTDigestStateIf((toUnixTimestamp64Nano(ended) - toUnixTimestamp64Nano(began)) / 1e6, toUnixTimestamp64Nano(ended) != 0)) AS durations,
				sum(its_input) AS input, sum(its_output) AS output, sum(its_cost) AS cost,
				countIf(its_input IS NULL
	AND its_output IS NULL) AS no_usage, countIf(its_cost IS NULL) AS no_cost
			FROM (
				WITH version + if(from_log, 0, 9223372036854775808) AS age
				SELECT argMax(prompt_version, if((prompt_id = ? OR prompt_id = ''
	AND prompt_name = ?), age, 0)) AS its_version,
					max(status = 'error') OR NOT max(status IN ('ok', 'cancelled'))
	AND max(error_type != '' OR notEmpty(error_message)) AS failed,
					min(start_time) AS began, max(end_time) AS ended, max(input_tokens) AS its_input, max(output_tokens) AS its_output,
					nullIf(if(max(cost_source = 'sent'), argMax(ifNull(cost_usd, -1), if(cost_source = 'sent', age, 0)),
						argMax(ifNull(cost_usd, -1), if(cost_source != '', age, 0))), -1) AS its_cost
				FROM spans WHERE span_id IN (SELECT span_id FROM spans WHERE project_id = '11111111-1111-4111-8111-111111111111'
	AND start_time >= fromUnixTimestamp64Nano(?)
	AND toStartOfHour(start_time) >= toStartOfHour(fromUnixTimestamp64Nano(?, 'UTC'))
	AND start_time < fromUnixTimestamp64Nano(?)
	AND toStartOfHour(start_time) <= toStartOfHour(fromUnixTimestamp64Nano(?, 'UTC'))
	AND run_id NOT IN (SELECT run_id FROM runs WHERE project_id = '11111111-1111-4111-8111-111111111111'
	AND start_time >= fromUnixTimestamp64Nano(?)
	AND toStartOfHour(start_time) >= toStartOfHour(fromUnixTimestamp64Nano(?, 'UTC'))
	AND start_time < fromUnixTimestamp64Nano(?)
	AND toStartOfHour(start_time) <= toStartOfHour(fromUnixTimestamp64Nano(?, 'UTC'))
	AND source != ?)
	AND (prompt_id = ? OR prompt_id = ''
	AND prompt_name = ?))
	AND project_id = '11111111-1111-4111-8111-111111111111'
	AND start_time >= fromUnixTimestamp64Nano(?)
	AND toStartOfHour(start_time) >= toStartOfHour(fromUnixTimestamp64Nano(?, 'UTC'))
	AND start_time < fromUnixTimestamp64Nano(?)
	AND toStartOfHour(start_time) <= toStartOfHour(fromUnixTimestamp64Nano(?, 'UTC'))
	AND run_id NOT IN (SELECT run_id FROM runs WHERE project_id = '11111111-1111-4111-8111-111111111111'
	AND start_time >= fromUnixTimestamp64Nano(?)
	AND toStartOfHour(start_time) >= toStartOfHour(fromUnixTimestamp64Nano(?, 'UTC'))
	AND start_time < fromUnixTimestamp64Nano(?)
	AND toStartOfHour(start_time) <= toStartOfHour(fromUnixTimestamp64Nano(?, 'UTC'))
	AND source != ?)
				GROUP BY sipHash64(run_id, span_id)
				HAVING max((prompt_id = ? OR prompt_id = ''
	AND prompt_name = ?))
	AND NOT max(counting = 'nothing' OR operation = ?)
	AND max(kind = ? OR kind = ''
	AND operation IN (?))
			)
			GROUP BY version ORDER BY calls DESC, version LIMIT ?;
-- arguments: [p triage 1772971200000000000 1772971200000000000 1772973000000000000 1772972999999999999 1772884800000000000 1772884800000000000 1772973000000000000 1772972999999999999 user p triage 1772971200000000000 1772971200000000000 1772973000000000000 1772972999999999999 1772884800000000000 1772884800000000000 1772973000000000000 1772972999999999999 user p triage fetch_response llm [chat generate_content text_completion fetch_response] 2000]

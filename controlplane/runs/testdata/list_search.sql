SELECT NULL::Nullable(Int64) AS value, {runColumns} FROM runs FINAL WHERE project_id = '11111111-1111-4111-8111-111111111111'
	AND start_time >= fromUnixTimestamp64Nano(?)
	AND toStartOfHour(start_time) >= toStartOfHour(fromUnixTimestamp64Nano(?, 'UTC'))
	AND start_time < fromUnixTimestamp64Nano(?)
	AND toStartOfHour(start_time) <= toStartOfHour(fromUnixTimestamp64Nano(?, 'UTC'))
	AND genai
	AND source = ?
	AND run_id IN (SELECT run_id FROM spans WHERE project_id = '11111111-1111-4111-8111-111111111111'
	AND toStartOfHour(start_time) >= toStartOfHour(fromUnixTimestamp64Nano(?, 'UTC'))
	AND hasAllTokens(lowerUTF8(concat(name, ' ', inputs, ' ', outputs, ' ', tool_arguments, ' ', tool_result, ' ', error_message, ' ', escaped_words)), lowerUTF8(?))
	AND hasPhrase(lowerUTF8(concat(name, ' ', inputs, ' ', outputs, ' ', tool_arguments, ' ', tool_result, ' ', error_message, ' ', escaped_words)), lowerUTF8(?)) UNION DISTINCT SELECT run_id FROM contents WHERE project_id = '11111111-1111-4111-8111-111111111111'
	AND hour >= toStartOfHour(fromUnixTimestamp64Nano(?, 'UTC'))
	AND hasAllTokens(lowerUTF8(arrayStringConcat(texts, ' ')), lowerUTF8(?))
	AND hasPhrase(lowerUTF8(arrayStringConcat(texts, ' ')), lowerUTF8(?)) UNION DISTINCT SELECT run_id FROM contents ARRAY JOIN shared_ids AS id, shared_tails AS tail WHERE project_id = '11111111-1111-4111-8111-111111111111'
	AND hour >= toStartOfHour(fromUnixTimestamp64Nano(?, 'UTC'))
	AND (id, tail) IN (SELECT content_id, shared_tail FROM shared_contents WHERE project_id = '11111111-1111-4111-8111-111111111111'
	AND day >= toDate(?)
	AND hasAllTokens(lowerUTF8(arrayStringConcat(texts, ' ')), lowerUTF8(?))
	AND hasPhrase(lowerUTF8(arrayStringConcat(texts, ' ')), lowerUTF8(?)))) ORDER BY start_time DESC, run_id DESC LIMIT ? OFFSET ? SETTINGS max_result_bytes = 16777216, optimize_move_to_prewhere_if_final = 1;
-- arguments: [1772971200000000000 1772971200000000000 1772973000000000000 1772972999999999999 user 1772884800000000000 refund "not found not found 1772884800000000000 refund "not found not found 1772884800000000000 20519 refund "not found not found 51 0]

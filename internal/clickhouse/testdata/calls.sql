SELECT project_id, run_id, span_id, kind, operation, start_time, end_time, tool_call_id, input_tokens, output_tokens, reasoning_tokens FROM spans
		WHERE project_id = ?
	AND toStartOfHour(start_time) BETWEEN fromUnixTimestamp(?)
	AND fromUnixTimestamp(?)
	AND toYYYYMMDD(start_time) BETWEEN ?
	AND ?
	AND NOT from_log
	AND (kind != '' OR operation != '')
			AND run_id IN (SELECT run_id FROM spans WHERE project_id = ?
	AND toStartOfHour(start_time) BETWEEN fromUnixTimestamp(?)
	AND fromUnixTimestamp(?)
	AND toYYYYMMDD(start_time) BETWEEN ?
	AND ?
	AND (session_id IN (?) OR conversation_id IN (?)))
		ORDER BY start_time DESC LIMIT ?;
-- arguments: [11111111-1111-4111-8111-111111111111 1772967600 1772971200 20260308 20260308 11111111-1111-4111-8111-111111111111 1772967600 1772971200 20260308 20260308 [a b] [a b] 20000]

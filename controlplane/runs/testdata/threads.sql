SELECT if(session_id != '', session_id, conversation_id) AS thread_id, max(start_time) AS matched, sipHash64(thread_id) AS hash FROM runs FINAL WHERE project_id = '11111111-1111-4111-8111-111111111111'
	AND start_time >= fromUnixTimestamp64Nano(?)
	AND toStartOfHour(start_time) >= toStartOfHour(fromUnixTimestamp64Nano(?, 'UTC'))
	AND start_time < fromUnixTimestamp64Nano(?)
	AND toStartOfHour(start_time) <= toStartOfHour(fromUnixTimestamp64Nano(?, 'UTC'))
	AND if(session_id != '', session_id, conversation_id) != ''
	AND lengthUTF8(if(session_id != '', session_id, conversation_id)) <= ?
	AND genai
	AND source = ?
			GROUP BY thread_id HAVING true
	AND (matched, hash) < (fromUnixTimestamp64Nano(?), toUInt64(?)) ORDER BY matched DESC, hash DESC LIMIT ?;
-- arguments: [1772971200000000000 1772971200000000000 1772973000000000000 1772972999999999999 1000 user 1772973000000000000 7 51]

SELECT project_id, conversation, at, record_id, traces FROM waiting_records FINAL
		WHERE project_id = ?
	AND conversation IN (?)
	AND toYYYYMMDD(at) BETWEEN ?
	AND ?
			AND at BETWEEN fromUnixTimestamp64Nano(?)
	AND fromUnixTimestamp64Nano(?)
	AND NOT placed
	AND (at, record_id) IN (
			SELECT at, record_id FROM (
				SELECT at, record_id, sum(bytes) OVER (ORDER BY bytes, at, record_id) - bytes AS smaller
				FROM (SELECT at, record_id, bytes FROM waiting_records FINAL
		WHERE project_id = ?
	AND conversation IN (?)
	AND toYYYYMMDD(at) BETWEEN ?
	AND ?
			AND at BETWEEN fromUnixTimestamp64Nano(?)
	AND fromUnixTimestamp64Nano(?)
	AND NOT placed ORDER BY at DESC, record_id LIMIT ?))
			WHERE smaller < ?);
-- arguments: [11111111-1111-4111-8111-111111111111 [a b] 20260308 20260308 1772969400000000000 1772973000000000000 11111111-1111-4111-8111-111111111111 [a b] 20260308 20260308 1772969400000000000 1772973000000000000 1000 16777216]

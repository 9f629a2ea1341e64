SELECT project_id, run_id, start_time, version FROM runs FINAL
			WHERE project_id IN (?)
	AND run_id IN (?)
				AND toStartOfHour(start_time) BETWEEN fromUnixTimestamp(?)
	AND fromUnixTimestamp(?)
				AND toYYYYMMDD(start_time) BETWEEN ?
	AND ?;
-- arguments: [[11111111-1111-4111-8111-111111111111] [22222222-2222-4222-8222-222222222222] 1772967600 1772971200 20260308 20260308]

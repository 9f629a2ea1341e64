SELECT DISTINCT toStartOfHour(start_time) AS hour FROM runs FINAL WHERE (fingerprint != ''
	AND NOT startsWith(fingerprint, 'fp:v3:')
	OR (replayability = '' OR signals_version != 1)
	AND NOT mapContains(metadata, 'looptrace.totals_of_first')) ORDER BY hour;
-- arguments: []
SELECT project_id, run_id FROM runs FINAL
			WHERE toStartOfHour(start_time) = fromUnixTimestamp(?)
	AND toYYYYMMDD(start_time) = ?
	AND (fingerprint != ''
	AND NOT startsWith(fingerprint, 'fp:v3:')
	OR (replayability = '' OR signals_version != 1)
	AND NOT mapContains(metadata, 'looptrace.totals_of_first'))
			ORDER BY project_id, run_id;
-- arguments: [1772971200 20260308]

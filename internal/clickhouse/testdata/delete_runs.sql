INSERT INTO run_bounds (project_id, run_id, first_start, last_start, first_batch, last_batch, deleted_at)
		SELECT project_id, run_id, min(first_start), max(last_start), ?, ?, ?
		FROM run_bounds WHERE project_id = ?
	AND run_id IN (?) GROUP BY project_id, run_id;
-- arguments: [{batch} {batch} 1772973000000000000 11111111-1111-4111-8111-111111111111 [22222222-2222-4222-8222-222222222222]]
SELECT project_id, run_id,
				min(first_start) AS first_start, max(last_start) AS last_start,
				min(first_batch) AS first_batch, max(last_batch) AS last_batch, max(deleted_at) AS deleted_at
			FROM run_bounds
			WHERE project_id IN (?)
	AND run_id IN (?)
			GROUP BY project_id, run_id;
-- arguments: [[11111111-1111-4111-8111-111111111111] [22222222-2222-4222-8222-222222222222]]
DELETE FROM waiting_records WHERE project_id = ?
	AND conversation IN (
		SELECT arrayJoin([session_id, conversation_id]) AS id FROM runs WHERE project_id = ?
	AND run_id IN (?)
			AND toStartOfHour(start_time) BETWEEN fromUnixTimestamp(?)
	AND fromUnixTimestamp(?)
	AND id != '');
-- arguments: [11111111-1111-4111-8111-111111111111 11111111-1111-4111-8111-111111111111 [22222222-2222-4222-8222-222222222222] 1772967600 1772971200]
DELETE FROM spans WHERE project_id = ?
	AND run_id IN (?)
	AND version <= ?
		AND toStartOfHour(start_time) BETWEEN fromUnixTimestamp(?)
	AND fromUnixTimestamp(?);
-- arguments: [11111111-1111-4111-8111-111111111111 [22222222-2222-4222-8222-222222222222] 1772973000000000000 1772967600 1772971200]
DELETE FROM scores WHERE project_id = ?
	AND run_id IN (?)
	AND version <= ?;
-- arguments: [11111111-1111-4111-8111-111111111111 [22222222-2222-4222-8222-222222222222] 1772973000000000000]
DELETE FROM run_scores WHERE project_id = ?
	AND run_id IN (?)
	AND version <= ?;
-- arguments: [11111111-1111-4111-8111-111111111111 [22222222-2222-4222-8222-222222222222] 1772973000000000000]
DELETE FROM contents WHERE project_id = ?
	AND run_id IN (?)
		AND hour BETWEEN fromUnixTimestamp(?)
	AND fromUnixTimestamp(?);
-- arguments: [11111111-1111-4111-8111-111111111111 [22222222-2222-4222-8222-222222222222] 1772967600 1772971200]
INSERT INTO runs (project_id, run_id, version, deleted, start_time)
		SELECT project_id, run_id, ?, 1, start_time FROM runs FINAL
		WHERE project_id = ?
	AND run_id IN (?)
	AND version < ?
	AND toStartOfHour(start_time) BETWEEN fromUnixTimestamp(?)
	AND fromUnixTimestamp(?);
-- arguments: [1772973000000000000 11111111-1111-4111-8111-111111111111 [22222222-2222-4222-8222-222222222222] 1772973000000000000 1772967600 1772971200]
DELETE FROM runs WHERE project_id = ?
	AND run_id IN (?)
	AND version < ?
		AND toStartOfHour(start_time) BETWEEN fromUnixTimestamp(?)
	AND fromUnixTimestamp(?);
-- arguments: [11111111-1111-4111-8111-111111111111 [22222222-2222-4222-8222-222222222222] 1772973000000000000 1772967600 1772971200]

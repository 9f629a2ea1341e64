SELECT project_id, hour, run_id, content_id, kind, shared_ids, shared_tails, if(length(c.frame) > 65536, concat('"', toString(length(c.frame)), ' bytes"'), c.frame) AS frame,
		if(length(c.frame) > 65536, [], arrayMap(t -> substring(t, 1, 16385), c.texts)) AS texts FROM contents AS c WHERE project_id = '11111111-1111-4111-8111-111111111111'
	AND hour BETWEEN fromUnixTimestamp(?)
	AND fromUnixTimestamp(?)
	AND run_id = ?
	AND (content_id IN (?) OR notEmpty(shared_ids));
-- arguments: [1772967600 1772971200 22222222-2222-4222-8222-222222222222 [5 8]]
SELECT project_id, day, content_id, shared_tail, if(length(c.frame) > 65536, concat('"', toString(length(c.frame)), ' bytes"'), c.frame) AS frame,
		if(length(c.frame) > 65536, [], arrayMap(t -> substring(t, 1, 16385), c.texts)) AS texts FROM shared_contents AS c WHERE project_id = '11111111-1111-4111-8111-111111111111'
	AND day BETWEEN toDate(?)
	AND toDate(?)
	AND content_id IN (?);
-- arguments: [20520 20520 [8]]

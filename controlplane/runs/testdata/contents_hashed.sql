SELECT project_id, hour, run_id, content_id, kind, shared_ids, shared_tails, if(length(c.frame) > 65536, concat('"', toString(length(c.frame)), ' bytes, ', hex(sipHash64(c.frame)), '"'), c.frame) AS frame,
		if(length(c.frame) > 65536, [], arrayMap(t -> if(length(t) > 4096, concat(substring(t, 1, 4096), '\0', leftPad(hex(sipHash64(t)), 16, '0')), t), c.texts)) AS texts FROM contents AS c WHERE project_id = '11111111-1111-4111-8111-111111111111'
	AND hour BETWEEN fromUnixTimestamp(?)
	AND fromUnixTimestamp(?)
	AND run_id = ?
	AND (content_id IN (?) OR notEmpty(shared_ids));
-- arguments: [1772967600 1772971200 22222222-2222-4222-8222-222222222222 [5]]

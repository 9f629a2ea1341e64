SELECT s.project_id AS project_id, s.run_id AS run_id, s.score_id AS score_id
			FROM (SELECT project_id, run_id, score_id, max(version) AS newest, argMax(deleted = 1 OR author_kind != '', version) AS written FROM scores
				WHERE project_id IN (?)
	AND run_id IN (?)
	AND score_id IN (?) GROUP BY project_id, run_id, score_id) AS s
			LEFT JOIN (SELECT project_id, run_id, max(deleted_at) AS deleted_at FROM run_bounds WHERE project_id IN (?)
	AND run_id IN (?) GROUP BY project_id, run_id) AS b
				ON b.project_id = s.project_id
	AND b.run_id = s.run_id
			WHERE s.written
	AND s.newest > b.deleted_at;
-- arguments: [[11111111-1111-4111-8111-111111111111] [22222222-2222-4222-8222-222222222222] [33333333-3333-4333-8333-333333333333] [11111111-1111-4111-8111-111111111111] [22222222-2222-4222-8222-222222222222]]

SELECT project_id, run_id, name, count() AS total, countIf(span_id != 0) AS of_spans,
			if(uniqExact(value_kind) = 1
	AND any(value_kind) != 'category', avg(number), NULL) AS mean,
			tupleElement(argMax(tuple(value_kind, number, substringUTF8(label, 1, ?), version), (version, score_id)) AS newest, 1) AS newest_kind,
			tupleElement(newest, 2) AS newest_number, tupleElement(newest, 3) AS newest_label, tupleElement(newest, 4) AS newest_version,
			groupUniqArrayIf(?)(substringUTF8(author_name, 1, ?), author_kind != '') AS authors,
			uniqExactIf((author_kind, author_id), author_kind != '') AS author_count
		FROM scores FINAL WHERE project_id = '11111111-1111-4111-8111-111111111111'
	AND run_id IN (?)
	AND name IN (?)
	AND value_kind != ''
	AND (value_kind = 'category' OR isFinite(ifNull(number, nan)))
		GROUP BY project_id, run_id, name ORDER BY project_id, run_id, name;
-- arguments: [200 5 200 [22222222-2222-4222-8222-222222222222] [relevance tone]]

SELECT substring(if(framework != '', framework, service_name), 1, 1025) AS client, substring(release, 1, 1025) AS version,
			substring(if(response_model != '', response_model, request_model), 1, 1025) AS model, count() AS spans,
			sum(assumeNotNull(cost_usd)) AS sent, sum(toFloat64OrZero(attributes_json[?])) AS computed, max(start_time) AS last_seen
		FROM spans WHERE project_id = '11111111-1111-4111-8111-111111111111'
	AND start_time >= fromUnixTimestamp64Nano(?)
	AND toStartOfHour(start_time) >= toStartOfHour(fromUnixTimestamp64Nano(?, 'UTC'))
	AND start_time < fromUnixTimestamp64Nano(?)
	AND toStartOfHour(start_time) <= toStartOfHour(fromUnixTimestamp64Nano(?, 'UTC'))
	AND cost_source = ?
	AND attributes_json[?] != ''
		GROUP BY client, version, model
		ORDER BY abs(sent - computed) DESC, client, version, model LIMIT ?;
-- arguments: [looptrace.computed_cost_usd 1772884800000000000 1772884800000000000 1772978400000000000 1772978399999999999 sent looptrace.computed_cost_usd 200]

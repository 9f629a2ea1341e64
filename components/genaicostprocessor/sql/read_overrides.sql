SELECT project_id::text, provider, model, valid_from, input, output, cache_read, cache_write, cache_write_1h, reasoning, revision
FROM price_overrides
ORDER BY project_id, revision

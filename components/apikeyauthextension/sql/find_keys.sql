SELECT public_id, id::text, project_id::text, secret_sha256, scopes, expires_at, last_used_at, revoked_at IS NOT NULL
FROM api_keys
WHERE public_id = ANY (@public_ids::text[])

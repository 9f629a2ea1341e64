SELECT k.public_id, k.id::text, k.project_id::text, k.secret_sha256, k.scopes, k.expires_at, k.last_used_at,
       k.revoked_at IS NOT NULL, p.limits
FROM api_keys k
JOIN projects p ON p.id = k.project_id
WHERE k.public_id = ANY (@public_ids::text[])

-- SKIP LOCKED: whoever holds the row is noting its use or changing the key. Waiting would buy nothing, and two
-- collectors that lock the same keys in different orders would deadlock.
WITH due AS (
    SELECT api_keys.id, used.at, used.ip
    FROM api_keys
    JOIN unnest(@ids::uuid[], @times::timestamptz[], @addresses::text[]::inet[]) AS used (id, at, ip) ON used.id = api_keys.id
    WHERE api_keys.last_used_at IS NULL OR api_keys.last_used_at <= used.at - interval '1 minute'
    FOR UPDATE OF api_keys SKIP LOCKED
)
UPDATE api_keys SET last_used_at = due.at, last_used_ip = due.ip FROM due WHERE api_keys.id = due.id

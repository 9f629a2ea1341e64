-- +goose Up

-- Why an attempt ended before its end, and what to do: neither has a text of the run, which may be deleted. Attempts from before told the
-- arguments of a call that was not recorded.
ALTER TABLE replay_attempts
    ADD COLUMN detail text,
    ADD COLUMN remedy text;
UPDATE replay_attempts SET
    stop_reason = CASE WHEN stop_reason IS NULL AND status = 'cancelled' THEN 'replay_failed' ELSE stop_reason END,
    detail = CASE WHEN stop_reason IN ('miss', 'write_barrier') THEN 'The attempt made a call that the recording does not have.' ELSE error_detail END;
ALTER TABLE replay_attempts
    DROP COLUMN error_code,
    DROP COLUMN error_detail,
    ADD CONSTRAINT replay_attempts_stop_reason_check CHECK (stop_reason IN (
        'completed', 'miss', 'write_barrier', 'opaque', 'censored', 'model_error', 'step_limit', 'max_cost', 'budget', 'cancelled', 'replay_failed'));

-- A day that nothing was written to for six hours is merged into one part. Parts that are each too small for a merge to
-- be worth its cost stay apart otherwise, each with its own columns, text index and share of a run for every read to open,
-- and one that was never merged has no text index at all. A day larger than the server's largest merge (150 GB) is left as it
-- is: spans that come late would have it rewritten up to four times a day.
-- +goose Up
-- +goose StatementBegin
ALTER TABLE spans MODIFY SETTING min_age_to_force_merge_seconds = 21600, min_age_to_force_merge_on_partition_only = 1,
    enable_max_bytes_limit_for_min_age_to_force_merge = 1;
-- +goose StatementEnd
-- +goose StatementBegin
ALTER TABLE contents MODIFY SETTING min_age_to_force_merge_seconds = 21600, min_age_to_force_merge_on_partition_only = 1,
    enable_max_bytes_limit_for_min_age_to_force_merge = 1;
-- +goose StatementEnd
-- +goose StatementBegin
ALTER TABLE shared_contents MODIFY SETTING min_age_to_force_merge_seconds = 21600, min_age_to_force_merge_on_partition_only = 1,
    enable_max_bytes_limit_for_min_age_to_force_merge = 1;
-- +goose StatementEnd
-- +goose StatementBegin
ALTER TABLE runs MODIFY SETTING min_age_to_force_merge_seconds = 21600, min_age_to_force_merge_on_partition_only = 1,
    enable_max_bytes_limit_for_min_age_to_force_merge = 1;
-- +goose StatementEnd

-- What merges make of 10 MB and more is wide at once, and merged column by column: row by row, as a compact part is, the first merge of
-- 120,000 spans took 1.4 s of processor time instead of 0.9, and all of ClickHouse a fifth more. A part that was just inserted stays
-- compact. Texts stand in blocks of 64 KiB instead of 256, their beginnings in 128, since more of them repeat each other: a run of 1,000
-- spans is read 1 to 2 ms sooner (docs/adr/0006-storing-fast.md). Parts take both up when they are merged.
-- +goose Up
-- +goose StatementBegin
ALTER TABLE spans MODIFY SETTING min_level_for_wide_part = 1, vertical_merge_algorithm_min_rows_to_activate = 1;
-- +goose StatementEnd
-- +goose StatementBegin
ALTER TABLE spans MODIFY COLUMN input_preview MODIFY SETTING min_compress_block_size = 131072, max_compress_block_size = 1048576;
-- +goose StatementEnd
-- +goose StatementBegin
ALTER TABLE spans MODIFY COLUMN output_preview MODIFY SETTING min_compress_block_size = 131072, max_compress_block_size = 1048576;
-- +goose StatementEnd
-- +goose StatementBegin
ALTER TABLE spans MODIFY COLUMN inputs MODIFY SETTING min_compress_block_size = 65536, max_compress_block_size = 1048576;
-- +goose StatementEnd
-- +goose StatementBegin
ALTER TABLE spans MODIFY COLUMN outputs MODIFY SETTING min_compress_block_size = 65536, max_compress_block_size = 1048576;
-- +goose StatementEnd
-- +goose StatementBegin
ALTER TABLE spans MODIFY COLUMN tool_arguments MODIFY SETTING min_compress_block_size = 65536, max_compress_block_size = 1048576;
-- +goose StatementEnd
-- +goose StatementBegin
ALTER TABLE spans MODIFY COLUMN tool_result MODIFY SETTING min_compress_block_size = 65536, max_compress_block_size = 1048576;
-- +goose StatementEnd

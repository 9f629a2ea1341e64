-- A read of a run decompresses a block of each of its columns. A block holds as many granules as it takes to fill it: of 16 KiB that is
-- one of ids, times and counts instead of four, and for words of few kinds several instead of dozens; texts have 64 KiB. The list of 1,000 spans
-- takes three quarters of the time, for 3 % more bytes (docs/adr/0006-storing-fast.md). Parts take this up when they are merged.
-- +goose Up
-- +goose StatementBegin
ALTER TABLE spans MODIFY SETTING min_compress_block_size = 16384;
-- +goose StatementEnd
-- +goose StatementBegin
ALTER TABLE spans MODIFY COLUMN error_message MODIFY SETTING min_compress_block_size = 65536, max_compress_block_size = 1048576;
-- +goose StatementEnd
-- +goose StatementBegin
ALTER TABLE spans MODIFY COLUMN error_stack MODIFY SETTING min_compress_block_size = 65536, max_compress_block_size = 1048576;
-- +goose StatementEnd
-- +goose StatementBegin
ALTER TABLE spans MODIFY COLUMN input_preview MODIFY SETTING min_compress_block_size = 65536, max_compress_block_size = 1048576;
-- +goose StatementEnd
-- +goose StatementBegin
ALTER TABLE spans MODIFY COLUMN output_preview MODIFY SETTING min_compress_block_size = 65536, max_compress_block_size = 1048576;
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
-- +goose StatementBegin
ALTER TABLE spans MODIFY COLUMN events MODIFY SETTING min_compress_block_size = 65536, max_compress_block_size = 1048576;
-- +goose StatementEnd
-- +goose StatementBegin
ALTER TABLE spans MODIFY COLUMN links MODIFY SETTING min_compress_block_size = 65536, max_compress_block_size = 1048576;
-- +goose StatementEnd

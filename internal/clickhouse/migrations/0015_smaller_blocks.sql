-- A read of one run decompresses a block of each column, whatever it takes of it. Blocks of a megabyte pay for texts, which
-- repeat from run to run; ids, times, counts and words of few kinds need none. Parts take this up when they are merged.
-- +goose Up
-- +goose StatementBegin
ALTER TABLE spans MODIFY SETTING min_compress_block_size = 65536, max_compress_block_size = 1048576;
-- +goose StatementEnd
-- +goose StatementBegin
ALTER TABLE spans MODIFY COLUMN error_message MODIFY SETTING min_compress_block_size = 1048576, max_compress_block_size = 4194304;
-- +goose StatementEnd
-- +goose StatementBegin
ALTER TABLE spans MODIFY COLUMN error_stack MODIFY SETTING min_compress_block_size = 1048576, max_compress_block_size = 4194304;
-- +goose StatementEnd
-- +goose StatementBegin
ALTER TABLE spans MODIFY COLUMN input_preview MODIFY SETTING min_compress_block_size = 1048576, max_compress_block_size = 4194304;
-- +goose StatementEnd
-- +goose StatementBegin
ALTER TABLE spans MODIFY COLUMN output_preview MODIFY SETTING min_compress_block_size = 1048576, max_compress_block_size = 4194304;
-- +goose StatementEnd
-- +goose StatementBegin
ALTER TABLE spans MODIFY COLUMN inputs MODIFY SETTING min_compress_block_size = 1048576, max_compress_block_size = 4194304;
-- +goose StatementEnd
-- +goose StatementBegin
ALTER TABLE spans MODIFY COLUMN outputs MODIFY SETTING min_compress_block_size = 1048576, max_compress_block_size = 4194304;
-- +goose StatementEnd
-- +goose StatementBegin
ALTER TABLE spans MODIFY COLUMN tool_arguments MODIFY SETTING min_compress_block_size = 1048576, max_compress_block_size = 4194304;
-- +goose StatementEnd
-- +goose StatementBegin
ALTER TABLE spans MODIFY COLUMN tool_result MODIFY SETTING min_compress_block_size = 1048576, max_compress_block_size = 4194304;
-- +goose StatementEnd
-- +goose StatementBegin
ALTER TABLE spans MODIFY COLUMN events MODIFY SETTING min_compress_block_size = 1048576, max_compress_block_size = 4194304;
-- +goose StatementEnd
-- +goose StatementBegin
ALTER TABLE spans MODIFY COLUMN links MODIFY SETTING min_compress_block_size = 1048576, max_compress_block_size = 4194304;
-- +goose StatementEnd

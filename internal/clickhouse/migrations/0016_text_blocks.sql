-- Texts of spans stand in blocks of a quarter of a megabyte. Of a run of 1,000 spans the blocks of a megabyte and more were a third of
-- what reading it took; on disk they saved a few per mille of texts that differ (docs/adr/0006-storing-fast.md). Parts take this
-- up when they are merged.
-- +goose Up
-- +goose StatementBegin
ALTER TABLE spans MODIFY COLUMN error_message MODIFY SETTING min_compress_block_size = 262144, max_compress_block_size = 1048576;
-- +goose StatementEnd
-- +goose StatementBegin
ALTER TABLE spans MODIFY COLUMN error_stack MODIFY SETTING min_compress_block_size = 262144, max_compress_block_size = 1048576;
-- +goose StatementEnd
-- +goose StatementBegin
ALTER TABLE spans MODIFY COLUMN input_preview MODIFY SETTING min_compress_block_size = 262144, max_compress_block_size = 1048576;
-- +goose StatementEnd
-- +goose StatementBegin
ALTER TABLE spans MODIFY COLUMN output_preview MODIFY SETTING min_compress_block_size = 262144, max_compress_block_size = 1048576;
-- +goose StatementEnd
-- +goose StatementBegin
ALTER TABLE spans MODIFY COLUMN inputs MODIFY SETTING min_compress_block_size = 262144, max_compress_block_size = 1048576;
-- +goose StatementEnd
-- +goose StatementBegin
ALTER TABLE spans MODIFY COLUMN outputs MODIFY SETTING min_compress_block_size = 262144, max_compress_block_size = 1048576;
-- +goose StatementEnd
-- +goose StatementBegin
ALTER TABLE spans MODIFY COLUMN tool_arguments MODIFY SETTING min_compress_block_size = 262144, max_compress_block_size = 1048576;
-- +goose StatementEnd
-- +goose StatementBegin
ALTER TABLE spans MODIFY COLUMN tool_result MODIFY SETTING min_compress_block_size = 262144, max_compress_block_size = 1048576;
-- +goose StatementEnd
-- +goose StatementBegin
ALTER TABLE spans MODIFY COLUMN events MODIFY SETTING min_compress_block_size = 262144, max_compress_block_size = 1048576;
-- +goose StatementEnd
-- +goose StatementBegin
ALTER TABLE spans MODIFY COLUMN links MODIFY SETTING min_compress_block_size = 262144, max_compress_block_size = 1048576;
-- +goose StatementEnd

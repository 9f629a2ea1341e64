-- How parts are laid out, as measured over real and generated spans (docs/adr/0006-storing-fast.md). A part that
-- was just inserted or merged once is compact: one file for 60 columns, and not two for each. Compressed blocks
-- of a megabyte and more find what one run's messages share with the next one's.
-- +goose Up
-- +goose StatementBegin
ALTER TABLE spans MODIFY SETTING min_level_for_wide_part = 2, min_compress_block_size = 1048576, max_compress_block_size = 4194304;
-- +goose StatementEnd
-- +goose StatementBegin
ALTER TABLE contents MODIFY SETTING min_level_for_wide_part = 2, min_compress_block_size = 1048576, max_compress_block_size = 4194304;
-- +goose StatementEnd

-- A read of a run decompresses a block of each of its columns. A block takes as many granules as fill it: with 16 KiB that is one of ids,
-- times and counts instead of four, and of words of few kinds several instead of dozens (docs/adr/0006-storing-fast.md). Parts take
-- this up when they are merged. Texts stay in blocks of 256 KiB, in which they repeat each other.
-- +goose Up
-- +goose StatementBegin
ALTER TABLE spans MODIFY SETTING min_compress_block_size = 16384;
-- +goose StatementEnd

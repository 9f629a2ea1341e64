// Package datasetfile has what all readers and writers of files of a dataset share: formats, options, rows and their cells,
// errors that name a line and a column, and text in its encodings.
//
// The formats are CSV, JSONL, JSON, YAML, Parquet and XLSX. Package reading opens them, package sheet has the two that
// are no text, and package mapping turns rows into items and writes items as files that it reads back.
//
// A file is untrusted and may be larger than the memory: text is read front to back, a row takes at most 16 MiB, and a
// bad row is an error of its own, which names its line, column and remedy. No cell is changed, cut or left out in
// silence.
package datasetfile

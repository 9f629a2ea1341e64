// Package sheet reads the files of rows that are no text: Parquet and XLSX. It bounds what a damaged or hostile file can
// make it read.
package sheet

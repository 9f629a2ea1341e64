// Package mapping turns the rows of a file into items of a dataset. It finds the types of columns and the product that
// wrote the file, previews a mapping, and writes items as files that it reads back.
package mapping

// Package jsonvalue compares values of JSON: equality, inclusion, distance, and numbers without loss.
package jsonvalue

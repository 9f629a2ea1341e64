// Package jsonschema checks values against JSON Schemas, with patterns whose work is bounded.
package jsonschema

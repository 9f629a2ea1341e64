// Package optional has values that may be absent, as pointers.
package optional

// Value returns what a pointer points to, or the zero value of nil.
func Value[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}

// NonZero returns a pointer to a value, or nil for the zero value.
func NonZero[T comparable](value T) *T {
	var zero T
	if value == zero {
		return nil
	}
	return &value
}

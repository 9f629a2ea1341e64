package clickhouse

import (
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/internal/runmodel"
)

// TestAbsent checks that each column is absent until one span has it, and that a cost, which a later price table may
// give, never is.
func TestAbsent(t *testing.T) {
	t.Parallel()
	for i := range reflect.TypeFor[runmodel.Span]().NumField() {
		field := reflect.TypeFor[runmodel.Span]().Field(i)
		column := field.Tag.Get("ch")
		spans := make([]runmodel.Span, 3)
		before := IsAbsent(Absent(spans), column)
		setSomething(t, reflect.ValueOf(&spans[1]).Elem().Field(i))
		absent := Absent(spans)
		assert.False(t, IsAbsent(absent, column), column)
		for _, other := range absentable {
			if other.name != column {
				assert.True(t, IsAbsent(absent, other.name), "%s beside %s", other.name, column)
			}
		}
		if column == "cost_usd" || column == "cost_source" || column == "price_version" {
			assert.False(t, before, column)
		}
	}
	for _, c := range absentable {
		assert.True(t, IsAbsent(Absent(make([]runmodel.Span, 2)), c.name), c.name)
		assert.False(t, IsAbsent(0, c.name), "what was stored before nobody knows")
	}
	assert.LessOrEqual(t, len(absentable), 64)
}

// setSomething sets a field to a non-zero value.
func setSomething(t *testing.T, field reflect.Value) {
	t.Helper()
	switch value := field.Addr().Interface().(type) {
	case *time.Time:
		*value = time.Unix(1, 0)
	case **int64:
		*value = new(int64) // 0 is a count, too
	case **float64:
		*value = new(float64)
	case *string:
		*value = "x"
	case *bool:
		*value = true
	case *uint32:
		*value = 1
	case *uint64:
		*value = 1
	case *[]string:
		*value = []string{""}
	case *[]uint64:
		*value = []uint64{0}
	case *map[string]string:
		*value = map[string]string{"": ""}
	default:
		require.Equal(t, reflect.Array, field.Kind(), field.Type()) // an id
		field.Index(0).SetUint(1)
	}
}

package runmodel

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestPrecedes(t *testing.T) {
	t.Parallel()
	at := func(us int) time.Time { return time.Unix(1000, 0).Add(time.Duration(us) * time.Microsecond) }
	for name, test := range map[string]struct {
		first, second [2]int // microseconds
		want          bool
	}{
		"apart":                                {[2]int{0, 100}, [2]int{200, 300}, true},
		"without a gap":                        {[2]int{0, 100}, [2]int{100, 200}, true},
		"rounded to a microsecond":             {[2]int{0, 101}, [2]int{100, 200}, true},
		"the shortest of microseconds":         {[2]int{0, 4}, [2]int{3, 7}, true},
		"rounded to a millisecond":             {[2]int{0, 11_000}, [2]int{10_000, 20_000}, true},
		"the shortest of milliseconds":         {[2]int{0, 4000}, [2]int{3000, 7000}, true},
		"long ones that share more":            {[2]int{0, 1_001_001}, [2]int{1_000_000, 2_000_000}, false},
		"short ones that share a third":        {[2]int{0, 3}, [2]int{2, 5}, false},
		"a short one at the end of a long one": {[2]int{0, 10_000}, [2]int{9900, 10_100}, false},
		"a long one at the end of a short one": {[2]int{9800, 10_000}, [2]int{9900, 20_000}, false},
		"the same time":                        {[2]int{0, 500}, [2]int{0, 500}, false},
		"the other way round":                  {[2]int{100, 200}, [2]int{0, 100}, false},
		"no length":                            {[2]int{0, 100}, [2]int{99, 99}, false},
	} {
		first, second := Interval{at(test.first[0]), at(test.first[1])}, Interval{at(test.second[0]), at(test.second[1])}
		assert.Equal(t, test.want, first.Precedes(second), name)
	}
}

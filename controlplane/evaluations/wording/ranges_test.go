package wording

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/looptrace/looptrace/controlplane/providers"
	"github.com/looptrace/looptrace/controlplane/stats/compare"
)

func TestCountRange(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "about 910 to 1,500 items", CountRange(compare.Count{Low: 914, Estimate: new(1100), High: new(1412)}, "items"), "no number is given better than it is known")
	assert.Equal(t, "about 73 to 240 items", CountRange(compare.Count{Low: 73, Estimate: new(73), High: new(239)}, "items"))
	assert.Equal(t, "910 repeats or more", CountRange(compare.Count{Low: 914, Estimate: new(1100)}, "repeats"))
	assert.Equal(t, "2 repeats", CountRange(compare.Count{Low: 2, Estimate: new(2), High: new(2)}, "repeats"))
	assert.Empty(t, CountRange(compare.Count{Low: 914}, "items"))
}

func TestPriceAndTimeRanges(t *testing.T) {
	t.Parallel()
	dollars := func(x float64) *providers.Money { return new(providers.MoneyOf(x)) }
	assert.Equal(t, "$1.40 to $2.00", PriceRange(dollars(1.4), dollars(2)))
	assert.Equal(t, "about $1.40", PriceRange(dollars(1.401), dollars(1.402)))
	assert.Equal(t, "at least $0.0012", PriceRange(dollars(0.00123), nil))
	assert.Empty(t, PriceRange(nil, nil))
	assert.Empty(t, PriceRange(dollars(0), dollars(0)), "no call, no cost")
	assert.Equal(t, "about 1 second to 2 minutes", TimeRange(new(.3), new(100.)))
	assert.Equal(t, "about 2 hours", TimeRange(new(7000.), new(7300.)))
	assert.Empty(t, TimeRange(nil, nil))
}

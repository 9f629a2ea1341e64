package evaluations

import (
	"testing"

	"github.com/looptrace/looptrace/controlplane/stats/compare"

	"github.com/stretchr/testify/assert"

	"github.com/looptrace/looptrace/controlplane/providers"
)

func TestCountRange(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "about 910 to 1,500 items", countRange(compare.Count{Low: 914, Estimate: new(1100), High: new(1412)}, "items"), "no number is given better than it is known")
	assert.Equal(t, "about 73 to 240 items", countRange(compare.Count{Low: 73, Estimate: new(73), High: new(239)}, "items"))
	assert.Equal(t, "910 repeats or more", countRange(compare.Count{Low: 914, Estimate: new(1100)}, "repeats"))
	assert.Equal(t, "2 repeats", countRange(compare.Count{Low: 2, Estimate: new(2), High: new(2)}, "repeats"))
	assert.Empty(t, countRange(compare.Count{Low: 914}, "items"))
}

func TestPriceAndTimeRanges(t *testing.T) {
	t.Parallel()
	dollars := func(x float64) *providers.Money { return new(providers.MoneyOf(x)) }
	assert.Equal(t, "$1.40 to $2.00", priceRange(dollars(1.4), dollars(2)))
	assert.Equal(t, "about $1.40", priceRange(dollars(1.401), dollars(1.402)))
	assert.Equal(t, "at least $0.0012", priceRange(dollars(0.00123), nil))
	assert.Empty(t, priceRange(nil, nil))
	assert.Empty(t, priceRange(dollars(0), dollars(0)), "no call, no cost")
	assert.Equal(t, "about 1 second to 2 minutes", timeRange(new(.3), new(100.)))
	assert.Equal(t, "about 2 hours", timeRange(new(7000.), new(7300.)))
	assert.Empty(t, timeRange(nil, nil))
}

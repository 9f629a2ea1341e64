package evaluations

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/looptrace/looptrace/controlplane/stats/compare"

	"github.com/looptrace/looptrace/controlplane/providers"
)

// countRange writes how many are needed, as a range of numbers with two digits: the variance is not known better. It is empty if no number is
// enough.
func countRange(c compare.Count, what string) string {
	low := thousands(rounded(c.Low, math.Floor))
	switch {
	case c.Estimate == nil:
		return ""
	case c.High == nil:
		return fmt.Sprintf("%s %s or more", low, what)
	}
	high := thousands(rounded(*c.High, math.Ceil))
	if high == low {
		return fmt.Sprintf("%s %s", low, what)
	}
	return fmt.Sprintf("about %s to %s %s", low, high, what)
}

// rounded has two digits.
func rounded(n int, by func(float64) float64) int {
	unit := math.Pow10(max(0, len(strconv.Itoa(n))-2)) //nolint:mnd // the digits that stay
	return int(by(float64(n)/unit) * unit)
}

// thousands writes a number as 1,400.
func thousands(n int) string {
	text := strconv.Itoa(n)
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}

// pointsRange writes a range of a score in points.
func pointsRange(r *compare.Range) string {
	low, high := number(r.Low*100), number(r.High*100)
	if low == high {
		return low + " points"
	}
	return fmt.Sprintf("%s to %s points", low, high)
}

// priceRange writes what something costs, empty if that is unknown or nothing.
func priceRange(low, high *providers.Money) string {
	switch {
	case low == nil || *low == 0 && (high == nil || *high == 0):
		return ""
	case high == nil:
		return "at least " + price(*low)
	case price(*low) == price(*high):
		return "about " + price(*low)
	}
	return price(*low) + " to " + price(*high)
}

// price writes an amount in cents, and a smaller one with two digits.
func price(amount providers.Money) string {
	if amount == 0 || amount >= providers.MoneyOf(0.01) {
		return fmt.Sprintf("$%.2f", amount.Dollars())
	}
	return fmt.Sprintf("$%.2g", amount.Dollars())
}

// timeRange writes how long something takes, empty if that is unknown.
func timeRange(low, high *float64) string {
	if low == nil || high == nil {
		return ""
	}
	from, to := timeText(*low), timeText(*high)
	if from == to {
		return "about " + from
	}
	return "about " + from + " to " + to
}

func timeText(seconds float64) string {
	count, unit := math.Round(seconds), "second"
	switch {
	case seconds >= (90 * time.Minute).Seconds():
		count, unit = math.Round(seconds/time.Hour.Seconds()), "hour"
	case seconds >= (90 * time.Second).Seconds():
		count, unit = math.Round(seconds/time.Minute.Seconds()), "minute"
	}
	if count = max(1, count); count == 1 {
		return "1 " + unit
	}
	return fmt.Sprintf("%s %ss", thousands(int(count)), unit)
}

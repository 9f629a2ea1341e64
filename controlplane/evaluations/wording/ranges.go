package wording

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/looptrace/looptrace/controlplane/providers"
	"github.com/looptrace/looptrace/controlplane/stats/compare"
)

// CountRange writes how many are needed, as a range of numbers with two digits: the variance is not known better. It is empty if no number is
// enough.
func CountRange(c compare.Count, what string) string {
	low := Thousands(rounded(c.Low, math.Floor))
	switch {
	case c.Estimate == nil:
		return ""
	case c.High == nil:
		return fmt.Sprintf("%s %s or more", low, what)
	}
	high := Thousands(rounded(*c.High, math.Ceil))
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

// Thousands writes a number as 1,400.
func Thousands(n int) string {
	text := strconv.Itoa(n)
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}

// PointsRange writes a range of a score in points.
func PointsRange(r *compare.Range) string {
	low, high := Number(r.Low*100), Number(r.High*100)
	if low == high {
		return low + " points"
	}
	return fmt.Sprintf("%s to %s points", low, high)
}

// PriceRange writes what something costs, empty if that is unknown or nothing.
func PriceRange(low, high *providers.Money) string {
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

// TimeRange writes how long something takes, empty if that is unknown.
func TimeRange(low, high *float64) string {
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
	return fmt.Sprintf("%s %ss", Thousands(int(count)), unit)
}

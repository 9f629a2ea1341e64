// Package wording writes numbers, ranges and units in sentences.
package wording

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/looptrace/looptrace/controlplane/evaluations"
	"github.com/looptrace/looptrace/controlplane/stats"
	"github.com/looptrace/looptrace/controlplane/stats/compare"
)

// Items writes a number of items.
func Items(n int64) string {
	if n == 1 {
		return "1 item"
	}
	return fmt.Sprintf("%d items", n)
}

// Groups writes a number of groups, if there are some.
func Groups(n *int) string {
	if n == nil {
		return ""
	}
	return fmt.Sprintf(" in %d groups", *n)
}

// Agreeing is the verb of a number of items.
func Agreeing(n int64, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// Unit is how the values of a metric are written.
type Unit struct {
	Scale float64
	Name  string
	write func(float64) string
}

// Points are those of scores and of shares of failures.
var Points = Unit{100, " points", Number}

// UnitOf returns the unit of a kind of metric.
func UnitOf(kind evaluations.Kind) Unit {
	switch kind {
	case evaluations.KindCost:
		return Unit{1, " USD", amount}
	case evaluations.KindDuration:
		return Unit{1, " ms", amount}
	case evaluations.KindOutputTokens:
		return Unit{1, "", amount}
	}
	return Points
}

// Estimate writes a difference.
func (u Unit) Estimate(x float64) string { return Sign(u.write(x*u.Scale)) + u.Name }

// Interval writes an interval, with a space before it.
func (u Unit) Interval(ci *stats.Interval) string {
	if ci == nil {
		return ""
	}
	return fmt.Sprintf(" [%s, %s]", Sign(u.write(ci[0]*u.Scale)), Sign(u.write(ci[1]*u.Scale)))
}

// Difference writes a difference with its interval and p.
func (u Unit) Difference(d *compare.Difference) string {
	out := u.Estimate(*d.Estimate) + u.Interval(d.CI)
	if p := probability(d.PAdjusted); p != "" {
		out += ", " + p
	}
	return out
}

// Exact writes a number that somebody chose, with as many digits as it has.
func (u Unit) Exact(x float64) string {
	x *= u.Scale
	text := u.write(x)
	if shown, err := strconv.ParseFloat(text, 64); err == nil && math.Abs(shown-x) <= 1e-9*math.Abs(x) {
		return text
	}
	return strconv.FormatFloat(x, 'f', -1, 64)
}

// probability writes a p value.
func probability(p *float64) string {
	switch {
	case p == nil:
		return ""
	case *p < 0.001:
		return "p < 0.001"
	case *p > evaluations.Level && *p < evaluations.Level*1.01: // else it would be rounded to what is a finding
		return fmt.Sprintf("p = %.3g", max(*p, 0.0501))
	}
	return fmt.Sprintf("p = %.2g", *p)
}

// Sign gives a number that was written a sign, if it is not 0.
func Sign(text string) string {
	if rest, negative := strings.CutPrefix(text, "-"); negative {
		return "−" + rest
	}
	if strings.Trim(text, "0.") == "" {
		return text
	}
	return "+" + text
}

// Number writes a number with one digit after the point, or two significant ones.
func Number(x float64) string {
	switch size := math.Abs(x); {
	case size < 1e-9: // the rounding of a sum
		return "0.0"
	case size < 0.095:
		return significant(x, 2)
	}
	return fmt.Sprintf("%.1f", x)
}

// amount writes a number with three significant digits, or all those before the point.
func amount(x float64) string {
	if math.Abs(x) < 1e-12 {
		return "0"
	}
	return significant(x, 3)
}

// significant writes a number without an exponent.
func significant(x float64, digits int) string {
	after := digits - 1 - int(math.Floor(math.Log10(math.Abs(x))))
	return strconv.FormatFloat(x, 'f', max(0, after), 64)
}

// Interval writes the interval of a share in points, with a space before it.
func Interval(ci *stats.Interval) string {
	if ci == nil {
		return ""
	}
	return fmt.Sprintf(" [%.1f, %.1f]", ci[0]*100, ci[1]*100)
}

// List writes names as a list.
func List(names []string) string {
	if len(names) == 1 {
		return names[0]
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}

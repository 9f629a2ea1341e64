package prices

import (
	"strconv"
	"time"
)

// Override is a project's own price of a model, which wins over the table's.
type Override struct {
	// Provider limits the override to spans that name it; empty: it holds for every provider.
	Provider string
	// Model is a name or a pattern, as in [Price.Pattern].
	Model string
	// From is the first moment at which the price holds; zero: from the beginning.
	From time.Time
	Rates
	// Revision is a number that no other state of an override in the project has. [VersionOf] makes it a price version.
	Revision int64
}

// Normalize puts the names of an override into the form in which they are matched.
func (o *Override) Normalize() {
	o.Provider, o.Model = normal(o.Provider), normal(o.Model)
}

// Validate returns an [InvalidError] for each field that cannot be used, joined.
func (o *Override) Validate() error {
	price := Price{Provider: o.Provider, Pattern: o.Model, Rates: o.Rates}
	return price.validate()
}

// VersionOf writes the price version of an override's revision.
func VersionOf(revision int64) string { return "project:" + strconv.FormatInt(revision, 10) }

// price lists the override under the id of its provider, where the table knows the name.
func (o *Override) price(t *Table) *Price {
	provider := o.Provider
	if id, ok := t.names[provider]; ok {
		provider = id
	}
	return &Price{
		Provider: provider, Pattern: o.Model, From: o.From.UTC(), Rates: o.Rates, Version: VersionOf(o.Revision),
	}
}

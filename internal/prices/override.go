package prices

import (
	"cmp"
	"strconv"
	"time"
)

// Override is a project's own price of a model, which wins over the table's.
type Override struct {
	// Provider limits the override to spans that name it. Empty means every provider.
	Provider string
	// Model is a name or a pattern, as in [Price.Pattern].
	Model string
	// From is when the price begins to apply. Zero means always.
	From time.Time
	Rates
	// Revision is unique among all states of all overrides in the project. [VersionOf] derives the price version from
	// it.
	Revision int64
	// Version names the price in spans, if it has no revision because it is no project's.
	Version string
}

// Normalize converts the names of an override to the form that is matched.
func (o *Override) Normalize() {
	o.Provider, o.Model = normal(o.Provider), normal(o.Model)
}

// Validate returns the joined [InvalidError]s of all invalid fields.
func (o *Override) Validate() error {
	price := Price{Provider: o.Provider, Pattern: o.Model, Rates: o.Rates}
	return price.validate()
}

// VersionOf returns the price version of an override's revision.
func VersionOf(revision int64) string { return "project:" + strconv.FormatInt(revision, 10) }

// price converts the override. It uses the provider's id if the table has its name.
func (o *Override) price(t *Table) *Price {
	provider := o.Provider
	if id, ok := t.names[provider]; ok {
		provider = id
	}
	return &Price{
		Provider: provider, Pattern: o.Model, From: o.From.UTC(), Rates: o.Rates, Version: cmp.Or(o.Version, VersionOf(o.Revision)),
	}
}

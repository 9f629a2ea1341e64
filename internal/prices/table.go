// Package prices knows what model tokens cost. It holds the price table of the program, applies a project's overrides
// to it, finds the entry of a model by its name, and computes costs. docs/prices.md describes all of this.
package prices

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"go.yaml.in/yaml/v3"
)

//go:embed table.yaml
var tableYAML []byte

// Rates are token prices in US dollars per million. CacheRead, CacheWrite, CacheWrite1h and Reasoning are nil if the
// provider lists no price for them: cached tokens then cost as much as uncached ones, tokens cached for an hour as
// much as those cached for five minutes, and reasoning as much as other output.
type Rates struct {
	Input        float64  `yaml:"input" json:"input"`
	Output       float64  `yaml:"output" json:"output"`
	CacheRead    *float64 `yaml:"cache_read" json:"cache_read,omitempty"`
	CacheWrite   *float64 `yaml:"cache_write" json:"cache_write,omitempty"`
	CacheWrite1h *float64 `yaml:"cache_write_1h" json:"cache_write_1h,omitempty"`
	Reasoning    *float64 `yaml:"reasoning" json:"reasoning,omitempty"`
}

// Tier holds the rates of a call whose input, including cached tokens, exceeds Above tokens.
type Tier struct {
	Above int64 `yaml:"above" json:"above"`
	Rates `yaml:",inline"`
}

// Price is the price of a model's tokens from a day on.
type Price struct {
	// Provider is the id of a provider in the table. An override may have any other name, or none for every provider.
	Provider string
	// Pattern is the name in lower case that matched the model. * stands for any text.
	Pattern string
	// From is when the price begins to apply. Zero means always.
	From time.Time
	Rates
	Tiers []Tier
	// Version identifies the price: the table's version, or `project:` and the override's revision.
	Version string
	// Source is the URL of the provider's price list. It is empty for an override.
	Source string
}

// Table is the price table.
type Table struct {
	// Version is the day of the last review.
	Version string
	// Prices holds an entry for each model name and day from which a price applies.
	Prices []*Price

	providers map[string]*provider // by id
	names     map[string]string    // a name in spans → the provider's id
	gateways  map[string]bool
	byName    []string // ids of the providers whose models are recognized if a span names none
	index     *index
	matcher   *Matcher
}

type provider struct {
	ID       string   `yaml:"id"`
	Names    []string `yaml:"names"`
	Source   string   `yaml:"source"`
	ByName   bool     `yaml:"by_name"`
	Protocol bool     `yaml:"protocol"`
	Also     []string `yaml:"also"`
	Models   []struct {
		Models []string  `yaml:"models"`
		From   time.Time `yaml:"from"`
		Tiers  []Tier    `yaml:"tiers"`
		Rates  `yaml:",inline"`
	} `yaml:"models"`
}

// perTokens is the number of tokens that every rate is for.
const perTokens = 1_000_000

// Default returns the built-in table.
var Default = sync.OnceValue(func() *Table {
	table, err := parse(tableYAML)
	if err != nil {
		panic(err) // the file is embedded, and a test reads it
	}
	return table
})

func parse(text []byte) (*Table, error) {
	var file struct {
		Version   string     `yaml:"version"`
		Unit      int        `yaml:"unit"`
		Gateways  []string   `yaml:"gateways"`
		Providers []provider `yaml:"providers"`
	}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	if err := decoder.Decode(&file); err != nil {
		return nil, fmt.Errorf("read the price table: %w", err)
	}
	if file.Version == "" || file.Unit != perTokens {
		return nil, fmt.Errorf("price table: needs a version and the unit %d", perTokens)
	}
	t := &Table{
		Version:   file.Version,
		providers: map[string]*provider{}, names: map[string]string{}, gateways: map[string]bool{"": true},
	}
	for _, name := range file.Gateways {
		t.gateways[name] = true
	}
	var errs []error
	for i := range file.Providers {
		p := &file.Providers[i]
		t.providers[p.ID] = p
		if p.ByName {
			t.byName = append(t.byName, p.ID)
		}
		for _, name := range append([]string{p.ID}, p.Names...) {
			if other, taken := t.names[name]; taken && other != p.ID {
				errs = append(errs, fmt.Errorf("price table: %s is named by %s and %s", name, other, p.ID))
			}
			t.names[name] = p.ID
		}
		for _, m := range p.Models {
			for _, name := range m.Models {
				price := &Price{
					Provider: p.ID, Pattern: name, From: m.From.UTC(), Rates: m.Rates, Tiers: m.Tiers, Version: t.Version, Source: p.Source,
				}
				if err := price.validate(); err != nil {
					errs = append(errs, fmt.Errorf("price table: %s %s: %w", p.ID, name, err))
				}
				t.Prices = append(t.Prices, price)
			}
		}
	}
	t.index = newIndex(t.Prices)
	t.matcher = newMatcher(t, nil)
	return t, errors.Join(errs...)
}

// MaxRate limits a rate, in US dollars per million tokens.
const MaxRate = 1_000_000

// InvalidError describes an invalid field of a price, by its JSON name.
type InvalidError struct {
	Field   string
	Message string
}

func (e *InvalidError) Error() string { return e.Field + " " + e.Message }

const (
	// MaxPattern limits a pattern, and the name of a model to find, in bytes.
	MaxPattern = 256
	// maxWildcards limits the wildcards of a pattern.
	maxWildcards = 4
)

// validate returns the joined [InvalidError]s of all invalid fields.
func (p *Price) validate() error {
	var errs []error
	invalid := func(field, message string) { errs = append(errs, &InvalidError{Field: field, Message: message}) }
	switch {
	case strings.TrimSpace(p.Pattern) == "" || len(p.Pattern) > MaxPattern:
		invalid("model", "must have between 1 and 256 bytes")
	case p.Pattern != normal(p.Pattern):
		invalid("model", "must be in lower case and without space around it")
	case strings.Count(p.Pattern, "*") > maxWildcards:
		invalid("model", "must have at most 4 wildcards")
	case strings.ContainsFunc(p.Pattern, unicode.IsControl):
		invalid("model", "must not have control characters")
	}
	if len(p.Provider) > MaxPattern || p.Provider != normal(p.Provider) || strings.ContainsFunc(p.Provider, unicode.IsControl) {
		invalid("provider", "must be in lower case, without space around it or control characters, and of at most 256 bytes")
	}
	p.Rates.validate("", invalid)
	above := int64(0)
	for i := range p.Tiers {
		field := fmt.Sprintf("tiers.%d.", i)
		if p.Tiers[i].Above <= above {
			invalid(field+"above", "must be positive and larger than the one before")
		}
		above = p.Tiers[i].Above
		p.Tiers[i].validate(field, invalid)
	}
	return errors.Join(errs...)
}

func (r *Rates) validate(prefix string, invalid func(field, message string)) {
	for _, rate := range []struct {
		field string
		value *float64
	}{
		{"input", &r.Input},
		{"output", &r.Output},
		{"cache_read", r.CacheRead},
		{"cache_write", r.CacheWrite},
		{"cache_write_1h", r.CacheWrite1h},
		{"reasoning", r.Reasoning},
	} {
		// A comparison with NaN is false.
		if rate.value != nil && !(*rate.value >= 0 && *rate.value <= MaxRate) {
			invalid(prefix+rate.field, "must be between 0 and 1000000")
		}
	}
}

func normal(name string) string { return strings.ToLower(strings.TrimSpace(name)) }

// history holds the prices of a pattern, earliest first.
type history []*Price

// at returns the price that applies at a time, or nil.
func (h history) at(moment time.Time) *Price {
	for _, price := range slices.Backward(h) {
		if !price.From.After(moment) {
			return price
		}
	}
	return nil
}

package genaicostprocessor

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/config/configopaque"

	"github.com/looptrace/looptrace/internal/prices"
)

// Config is the processor's configuration.
type Config struct {
	// DatabaseURL is the address of the PostgreSQL database with projects' own prices. Without it, the price table
	// applies to all projects.
	DatabaseURL configopaque.String `mapstructure:"database_url"`

	// RefreshInterval is how often prices are read again, in addition to PostgreSQL's notifications of changes.
	RefreshInterval time.Duration `mapstructure:"refresh_interval"`

	// Prices are prices of models that win over the price table, for collectors without the database.
	Prices []ModelPrice `mapstructure:"prices"`

	// prevent unkeyed literal initialization
	_ struct{}
}

// ModelPrice is a price in US dollars per million tokens. What is left out costs as much as the rate that it is a part of.
type ModelPrice struct {
	// Provider limits the price to spans that name it.
	Provider string `mapstructure:"provider"`
	// Model is a name, in which * stands for any text.
	Model string `mapstructure:"model"`
	// From is the first day (UTC) of the price, such as 2026-11-01: text, or a time, as YAML reads it without quotes. By
	// default it holds from the beginning.
	From         any      `mapstructure:"from"`
	Input        float64  `mapstructure:"input"`
	Output       float64  `mapstructure:"output"`
	CacheRead    *float64 `mapstructure:"cache_read"`
	CacheWrite   *float64 `mapstructure:"cache_write"`
	CacheWrite1h *float64 `mapstructure:"cache_write_1h"`
	Reasoning    *float64 `mapstructure:"reasoning"`

	// prevent unkeyed literal initialization
	_ struct{}
}

// configuredVersion is the price version of spans that were priced by the configuration.
const configuredVersion = "collector"

// override converts the price. Its errors are those of its fields.
func (m *ModelPrice) override() (prices.Override, error) {
	o := prices.Override{
		Provider: m.Provider, Model: m.Model, Version: configuredVersion,
		Rates: prices.Rates{
			Input: m.Input, Output: m.Output, CacheRead: m.CacheRead, CacheWrite: m.CacheWrite, CacheWrite1h: m.CacheWrite1h, Reasoning: m.Reasoning,
		},
	}
	o.Normalize()
	err := o.Validate()
	switch from := m.From.(type) {
	case nil:
	case time.Time:
		o.From = from
	default:
		day, notADay := time.Parse(time.DateOnly, fmt.Sprint(from))
		if notADay != nil {
			err = errors.Join(errors.New("from must be a day such as 2026-11-01"), err)
		}
		o.From = day
	}
	return o, err
}

func createDefaultConfig() component.Config {
	return &Config{RefreshInterval: 30 * time.Second}
}

// Validate reports all problems of the configuration.
func (c *Config) Validate() error {
	var errs []error
	url := string(c.DatabaseURL)
	if url != "" && !strings.HasPrefix(url, "postgres://") && !strings.HasPrefix(url, "postgresql://") {
		errs = append(errs, errors.New("database_url must be a PostgreSQL address: postgres://user:password@host:port/database"))
	}
	if c.RefreshInterval <= 0 {
		errs = append(errs, errors.New("refresh_interval must be positive"))
	}
	if url != "" && len(c.Prices) > 0 {
		errs = append(errs, errors.New("prices and database_url exclude each other: with a database, projects have their own prices there"))
	}
	for i := range c.Prices {
		if _, err := c.Prices[i].override(); err != nil {
			errs = append(errs, fmt.Errorf("prices[%d]: %w", i, err))
		}
	}
	return errors.Join(errs...)
}

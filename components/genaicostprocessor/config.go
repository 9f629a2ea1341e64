package genaicostprocessor

import (
	"errors"
	"strings"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/config/configopaque"
)

// Config is what an operator sets.
type Config struct {
	// DatabaseURL is the address of the PostgreSQL that holds the prices of projects' own. Without it the table's prices
	// hold for everybody.
	DatabaseURL configopaque.String `mapstructure:"database_url"`

	// RefreshInterval is how often they are read again, besides whenever PostgreSQL tells that they have changed.
	RefreshInterval time.Duration `mapstructure:"refresh_interval"`

	// prevent unkeyed literal initialization
	_ struct{}
}

func createDefaultConfig() component.Config {
	return &Config{RefreshInterval: 30 * time.Second}
}

// Validate reports everything that is wrong at once.
func (c *Config) Validate() error {
	var errs []error
	url := string(c.DatabaseURL)
	if url != "" && !strings.HasPrefix(url, "postgres://") && !strings.HasPrefix(url, "postgresql://") {
		errs = append(errs, errors.New("database_url must be a PostgreSQL address: postgres://user:password@host:port/database"))
	}
	if c.RefreshInterval <= 0 {
		errs = append(errs, errors.New("refresh_interval must be positive"))
	}
	return errors.Join(errs...)
}

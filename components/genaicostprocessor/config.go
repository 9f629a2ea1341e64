package genaicostprocessor

import (
	"errors"
	"strings"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/config/configopaque"
)

// Config is the processor's configuration.
type Config struct {
	// DatabaseURL is the address of the PostgreSQL database with projects' own prices. Without it, the price table
	// applies to all projects.
	DatabaseURL configopaque.String `mapstructure:"database_url"`

	// RefreshInterval is how often prices are read again, in addition to PostgreSQL's notifications of changes.
	RefreshInterval time.Duration `mapstructure:"refresh_interval"`

	// prevent unkeyed literal initialization
	_ struct{}
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
	return errors.Join(errs...)
}

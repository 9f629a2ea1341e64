package apikeyauthextension

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/config/configopaque"

	"github.com/looptrace/looptrace/internal/apikey"
)

// Config configures the extension.
type Config struct {
	// DatabaseURL is the address of the PostgreSQL that holds the keys.
	DatabaseURL configopaque.String `mapstructure:"database_url"`
	// RequiredScope is the scope without which a key is refused with 403.
	RequiredScope string `mapstructure:"required_scope"`
	// Cache bounds what is remembered of keys.
	Cache CacheConfig `mapstructure:"cache"`

	// prevent unkeyed literal initialization
	_ struct{}
}

// CacheConfig bounds what is remembered of keys.
type CacheConfig struct {
	// MaxEntries bounds the stored keys that are remembered and, apart from them, the ones that are refused,
	// so that a flood of made-up keys drives no good one out.
	MaxEntries int `mapstructure:"max_entries"`
	// TTL is how long after its last use a key is kept fresh in the background, so that its next use waits
	// for nothing. It is no bound on how long a revoked key works: see revalidateEvery.
	TTL time.Duration `mapstructure:"ttl"`
	// NegativeTTL is how long a key that is not stored, or is revoked, is refused without another look-up.
	NegativeTTL time.Duration `mapstructure:"negative_ttl"`

	// prevent unkeyed literal initialization
	_ struct{}
}

func createDefaultConfig() component.Config {
	return &Config{
		RequiredScope: apikey.ScopeIngestWrite,
		Cache: CacheConfig{
			MaxEntries:  10_000,
			TTL:         30 * time.Second,
			NegativeTTL: 5 * time.Second,
		},
	}
}

// Validate reports everything that is wrong with the configuration.
func (c *Config) Validate() error {
	var errs []error
	url := string(c.DatabaseURL)
	if !strings.HasPrefix(url, "postgres://") && !strings.HasPrefix(url, "postgresql://") {
		errs = append(errs, errors.New("database_url must be a PostgreSQL address: postgres://user:password@host:port/database"))
	}
	if !apikey.ValidScope(c.RequiredScope) {
		errs = append(errs, fmt.Errorf("required_scope %q must be one of %s", c.RequiredScope, strings.Join(apikey.Scopes(), ", ")))
	}
	if c.Cache.MaxEntries < 1 {
		errs = append(errs, errors.New("cache::max_entries must be positive"))
	}
	if c.Cache.TTL <= 0 {
		errs = append(errs, errors.New("cache::ttl must be positive"))
	}
	if c.Cache.NegativeTTL <= 0 || c.Cache.NegativeTTL > maxNegativeTTL {
		errs = append(errs, fmt.Errorf("cache::negative_ttl must be positive and at most %s", maxNegativeTTL))
	}
	return errors.Join(errs...)
}

// maxNegativeTTL bounds how long a key that was restored may go on being refused.
const maxNegativeTTL = time.Minute

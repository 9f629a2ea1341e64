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
	// DatabaseURL is the address of the PostgreSQL database with the keys.
	DatabaseURL configopaque.String `mapstructure:"database_url"`
	// RequiredScope is the scope that a key needs. Others are refused with 403.
	RequiredScope string `mapstructure:"required_scope"`
	// WebSecret is what web proves itself with. It is believed about the addresses of clients that it forwards.
	WebSecret configopaque.String `mapstructure:"web_secret"`
	// Cache configures the cache of keys.
	Cache CacheConfig `mapstructure:"cache"`

	// prevent unkeyed literal initialization
	_ struct{}
}

// CacheConfig configures the cache of keys.
type CacheConfig struct {
	// MaxEntries limits the cached keys. It applies separately to stored and to refused keys, so that a flood of
	// made-up keys cannot evict good ones.
	MaxEntries int `mapstructure:"max_entries"`
	// TTL is how long after its last use a key is kept fresh in the background, so that its next use does not wait.
	// It does not limit how long a revoked key works: see revalidateEvery.
	TTL time.Duration `mapstructure:"ttl"`
	// NegativeTTL is how long a key that is not stored or revoked is refused without another look-up.
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

// maxNegativeTTL limits how long a restored key may still be refused.
const maxNegativeTTL = time.Minute

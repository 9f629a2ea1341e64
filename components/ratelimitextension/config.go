package ratelimitextension

import (
	"errors"
	"fmt"
	"math"
	"net/http"

	"go.opentelemetry.io/collector/component"

	"github.com/looptrace/looptrace/internal/kafkaconfig"
	"github.com/looptrace/looptrace/internal/ratelimit"
)

// Config is the extension's configuration.
type Config struct {
	// Key limits each key.
	Key LimitsConfig `mapstructure:"key"`
	// Project limits each project across its keys.
	Project LimitsConfig `mapstructure:"project"`
	// OTLPStatus is the HTTP status of refusals on OTLP paths: 429, or 503 for clients that drop their data on 429.
	OTLPStatus int `mapstructure:"otlp_status"`
	// Usage is where replicas share their counters.
	Usage UsageConfig `mapstructure:"usage"`

	// prevent unkeyed literal initialization
	_ struct{}
}

// LimitsConfig limits a key or a project.
type LimitsConfig struct {
	Requests LimitConfig `mapstructure:"requests"`
	// Bytes are the bytes of bodies: as received over HTTP, decompressed over gRPC.
	Bytes LimitConfig `mapstructure:"bytes"`
	Spans LimitConfig `mapstructure:"spans"`

	// prevent unkeyed literal initialization
	_ struct{}
}

// LimitConfig is one token bucket.
type LimitConfig struct {
	// Rate is how much may be sent per second. 0 means no limit.
	Rate float64 `mapstructure:"rate"`
	// Burst is how much may be sent at once after a pause.
	Burst float64 `mapstructure:"burst"`

	// prevent unkeyed literal initialization
	_ struct{}
}

// UsageConfig is where replicas share their counters.
type UsageConfig struct {
	// Brokers are Kafka's addresses, as host:port. Without any, this process limits on its own, which is exact if it
	// is the only one.
	Brokers []string `mapstructure:"brokers"`
	// Security holds `tls` and `auth`, as in the kafka exporter.
	kafkaconfig.Security `mapstructure:",squash"`
	// Topic has one partition, and keeps records for some minutes without compaction.
	Topic string `mapstructure:"topic"`
	// ReplicaID identifies the replica. A restarted one with the same id replaces itself at once instead of after 3
	// s. It must be unique. Empty means random.
	ReplicaID string `mapstructure:"replica_id"`

	// prevent unkeyed literal initialization
	_ struct{}
}

func createDefaultConfig() component.Config {
	return &Config{
		OTLPStatus: http.StatusTooManyRequests,
		Usage:      UsageConfig{Topic: ratelimit.UsageTopic},
	}
}

// Validate reports all problems of the configuration.
func (c *Config) Validate() error {
	var errs []error
	if c.OTLPStatus != http.StatusTooManyRequests && c.OTLPStatus != http.StatusServiceUnavailable {
		errs = append(errs, errors.New("otlp_status must be 429 or 503"))
	}
	if len(c.Usage.Brokers) > 0 && c.Usage.Topic == "" {
		errs = append(errs, errors.New("usage::topic must be set"))
	}
	return errors.Join(errs...)
}

// Validate reports an invalid bucket.
func (c *LimitConfig) Validate() error {
	switch {
	case !(c.Rate >= 0 && c.Rate <= ratelimit.MaxRate):
		return fmt.Errorf("rate must be between 0 and %g", float64(ratelimit.MaxRate))
	case c.Rate > 0 && !(c.Burst >= 1 && c.Burst <= ratelimit.MaxRate):
		return fmt.Errorf("burst must be between 1 and %g if rate is set", float64(ratelimit.MaxRate))
	case c.Rate == 0 && c.Burst != 0:
		return errors.New("burst is set without rate: set both")
	}
	return nil
}

func (c *LimitsConfig) limits() ratelimit.Limits {
	limits := ratelimit.Limits{}
	for measure, limit := range map[ratelimit.Measure]LimitConfig{
		ratelimit.Requests: c.Requests,
		ratelimit.Bytes:    c.Bytes,
		ratelimit.Spans:    c.Spans,
	} {
		limits[measure] = ratelimit.Limit{Rate: limit.Rate, Burst: math.Floor(limit.Burst)}
	}
	return limits
}

package queueanswerprocessor

import (
	"errors"
	"time"

	"go.opentelemetry.io/collector/component"
)

// Config is the processor's configuration.
type Config struct {
	// Timeout is how long a request waits for the queue.
	Timeout time.Duration `mapstructure:"timeout"`

	// RetryAfter is when a client should retry a request that was not accepted.
	RetryAfter time.Duration `mapstructure:"retry_after"`

	// prevent unkeyed literal initialization
	_ struct{}
}

func createDefaultConfig() component.Config {
	return &Config{Timeout: 10 * time.Second, RetryAfter: 5 * time.Second}
}

// Validate reports all problems of the configuration.
func (c *Config) Validate() error {
	var errs []error
	if c.Timeout <= 0 {
		errs = append(errs, errors.New("timeout must be positive"))
	}
	if c.RetryAfter <= 0 {
		errs = append(errs, errors.New("retry_after must be positive"))
	}
	return errors.Join(errs...)
}

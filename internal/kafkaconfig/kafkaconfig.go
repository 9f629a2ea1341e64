// Package kafkaconfig is the Collector's configuration of a secured connection to Kafka. It has the keys of the kafka
// exporter.
package kafkaconfig

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"
	"go.opentelemetry.io/collector/config/configopaque"
	"go.opentelemetry.io/collector/config/configtls"

	"github.com/looptrace/looptrace/internal/kafkaclient"
)

// Security is what the brokers ask of a connection. The zero value is a plain connection.
type Security struct {
	// TLS encrypts the connection; `{}` trusts the machine's certificate authorities.
	TLS *configtls.ClientConfig `mapstructure:"tls"`
	// Auth authenticates the client.
	Auth Auth `mapstructure:"auth"`

	// prevent unkeyed literal initialization
	_ struct{}
}

// Auth authenticates the client.
type Auth struct {
	// SASL logs in with a name and a password.
	SASL *SASL `mapstructure:"sasl"`

	// prevent unkeyed literal initialization
	_ struct{}
}

// SASL is a login.
type SASL struct {
	// Mechanism is PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512.
	Mechanism string              `mapstructure:"mechanism"`
	Username  string              `mapstructure:"username"`
	Password  configopaque.String `mapstructure:"password"`

	// prevent unkeyed literal initialization
	_ struct{}
}

// Validate reports everything that is wrong at once.
func (s *SASL) Validate() error { return s.login().Validate() }

func (s *SASL) login() *kafkaclient.SASL {
	return &kafkaclient.SASL{Mechanism: s.Mechanism, Username: s.Username, Password: string(s.Password)}
}

// Options returns the options of a client with this security. It returns an error if a certificate cannot be read.
func (s Security) Options(ctx context.Context) ([]kgo.Opt, error) {
	var security kafkaclient.Security
	if s.TLS != nil {
		var err error
		if security.TLS, err = s.TLS.LoadTLSConfig(ctx); err != nil {
			return nil, fmt.Errorf("load the certificates for Kafka: %w", err)
		}
	}
	if s.Auth.SASL != nil {
		security.SASL = s.Auth.SASL.login()
	}
	return security.Options(), nil
}

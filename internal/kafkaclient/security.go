// Package kafkaclient says how the brokers of the queue are reached where they ask for TLS or SASL: for every client
// of ours, under the keys of the Collector's kafka exporter.
package kafkaclient

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"
	"go.opentelemetry.io/collector/config/configopaque"
	"go.opentelemetry.io/collector/config/configtls"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/confmap/provider/yamlprovider"
)

// Security is what a connection to a broker needs beside its address. The zero value is a plain connection.
type Security struct {
	// TLS, where it is set, encrypts: `{}` trusts the machine's certificate authorities.
	TLS *configtls.ClientConfig `mapstructure:"tls"`
	// Auth is who we are.
	Auth Auth `mapstructure:"auth"`

	// prevent unkeyed literal initialization
	_ struct{}
}

// Auth is how a client says who it is.
type Auth struct {
	// SASL, where it is set, logs in with a name and a password.
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
func (s *SASL) Validate() error {
	var errs []error
	if _, ok := mechanisms[s.Mechanism]; !ok {
		errs = append(errs, fmt.Errorf("mechanism must be PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512, not %q", s.Mechanism))
	}
	if s.Username == "" || s.Password == "" {
		errs = append(errs, errors.New("username and password must be set"))
	}
	return errors.Join(errs...)
}

// Option is that of a client that logs in so.
func (s *SASL) Option() kgo.Opt {
	return kgo.SASL(mechanisms[s.Mechanism](s.Username, string(s.Password)))
}

// YAML is the login as the variable KAFKA_SASL has it.
func (s *SASL) YAML() string {
	return fmt.Sprintf("{mechanism: %s, username: %q, password: %q}", s.Mechanism, s.Username, string(s.Password))
}

var mechanisms = map[string]func(user, password string) sasl.Mechanism{
	"PLAIN": func(user, password string) sasl.Mechanism {
		return plain.Auth{User: user, Pass: password}.AsMechanism()
	},
	"SCRAM-SHA-256": func(user, password string) sasl.Mechanism {
		return scram.Auth{User: user, Pass: password}.AsSha256Mechanism()
	},
	"SCRAM-SHA-512": func(user, password string) sasl.Mechanism {
		return scram.Auth{User: user, Pass: password}.AsSha512Mechanism()
	},
}

// Options are those of a client that connects so. An error is a certificate that cannot be read.
func (s Security) Options(ctx context.Context) ([]kgo.Opt, error) {
	var opts []kgo.Opt
	if s.TLS != nil {
		tls, err := s.TLS.LoadTLSConfig(ctx)
		if err != nil {
			return nil, fmt.Errorf("load the certificates for Kafka: %w", err)
		}
		if tls != nil { // nil: insecure was asked for
			opts = append(opts, kgo.DialTLSConfig(tls))
		}
	}
	if login := s.Auth.SASL; login != nil {
		opts = append(opts, login.Option())
	}
	return opts, nil
}

// FromEnvironment reads KAFKA_TLS and KAFKA_SASL, YAML maps of the fields of tls and sasl, as the shipped
// configurations of the Collector do; unset or empty is none.
func FromEnvironment(ctx context.Context) (Security, error) {
	settings := confmap.New()
	for _, variable := range []struct{ name, key string }{{"KAFKA_TLS", "tls"}, {"KAFKA_SASL", "auth::sasl"}} {
		value := os.Getenv(variable.name)
		if value == "" {
			continue
		}
		provider := yamlprovider.NewFactory().Create(confmap.ProviderSettings{})
		retrieved, err := provider.Retrieve(ctx, "yaml:"+variable.key+": "+value, nil)
		if err != nil {
			return Security{}, fmt.Errorf("read %s: %w", variable.name, err)
		}
		conf, err := retrieved.AsConf()
		if err != nil {
			return Security{}, fmt.Errorf("read %s: %w", variable.name, err)
		}
		if err := settings.Merge(conf); err != nil {
			return Security{}, fmt.Errorf("read %s: %w", variable.name, err)
		}
	}
	var security Security
	if err := settings.Unmarshal(&security); err != nil {
		return Security{}, fmt.Errorf("read KAFKA_TLS and KAFKA_SASL: %w", err)
	}
	if security.Auth.SASL != nil {
		if err := security.Auth.SASL.Validate(); err != nil {
			return Security{}, fmt.Errorf("read KAFKA_SASL: %w", err)
		}
	}
	return security, nil
}

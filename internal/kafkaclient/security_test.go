package kafkaclient_test

import (
	"context"
	"crypto/x509"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/looptrace/looptrace/internal/kafkaclient"
	"github.com/looptrace/looptrace/test/kafka"
)

// ping connects with the environment's settings and returns the broker's answer.
func ping(t *testing.T, address string) error {
	t.Helper()
	security, err := kafkaclient.FromEnvironment()
	require.NoError(t, err)
	client, err := kgo.NewClient(append(security.Options(), kgo.SeedBrokers(address), kgo.RetryTimeout(time.Second))...)
	require.NoError(t, err)
	defer client.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	return client.Ping(ctx)
}

func TestSecuredBroker(t *testing.T) {
	broker := kafka.StartSecured(t)
	trusted := fmt.Sprintf("{ca_file: %s}", broker.CAFile)
	login := func(mechanism, password string) string {
		return fmt.Sprintf("{mechanism: %s, username: %s, password: %s}", mechanism, broker.Username, password)
	}
	for _, mechanism := range []string{"PLAIN", "SCRAM-SHA-512"} {
		t.Run(mechanism, func(t *testing.T) {
			t.Setenv("KAFKA_TLS", trusted)
			t.Setenv("KAFKA_SASL", login(mechanism, broker.Password))
			require.NoError(t, ping(t, broker.Address))

			t.Setenv("KAFKA_SASL", login(mechanism, "wrong"))
			require.ErrorIs(t, ping(t, broker.Address), kerr.SaslAuthenticationFailed)
		})
	}
	t.Run("unknown authority", func(t *testing.T) {
		t.Setenv("KAFKA_TLS", "{}")
		t.Setenv("KAFKA_SASL", login("PLAIN", broker.Password))
		var unknown x509.UnknownAuthorityError
		require.ErrorAs(t, ping(t, broker.Address), &unknown)
	})
	t.Run("not secured", func(t *testing.T) {
		require.Error(t, ping(t, broker.Address))
	})
}

func TestFromEnvironmentRefuses(t *testing.T) {
	for name, c := range map[string]struct{ tls, sasl, want string }{
		"mechanism":    {sasl: "{mechanism: GSSAPI, username: u, password: p}", want: `mechanism must be PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512, not "GSSAPI"`},
		"no password":  {sasl: "{mechanism: PLAIN, username: u}", want: "username and password must be set"},
		"unknown key":  {tls: "{ca: /etc/ca.pem}", want: "ca"},
		"not a map":    {tls: "true", want: "KAFKA_TLS"},
		"missing CA":   {tls: "{ca_file: /nowhere/ca.pem}", want: "/nowhere/ca.pem"},
		"no CA":        {tls: "{ca_pem: text}", want: "no certificate"},
		"both CAs":     {tls: "{ca_pem: text, ca_file: /nowhere/ca.pem}", want: "/nowhere/ca.pem"},
		"no key":       {tls: "{cert_pem: text}", want: "certificate and key"},
		"version":      {tls: "{min_version: 1.4}", want: "min_version"},
		"no such YAML": {sasl: "{mechanism", want: "KAFKA_SASL"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("KAFKA_TLS", c.tls)
			t.Setenv("KAFKA_SASL", c.sasl)
			_, err := kafkaclient.FromEnvironment()
			require.ErrorContains(t, err, c.want)
		})
	}
}

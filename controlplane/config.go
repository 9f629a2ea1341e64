package main

import (
	"cmp"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/looptrace/looptrace/controlplane/datasets"
	"github.com/looptrace/looptrace/controlplane/httpapi"
	"github.com/looptrace/looptrace/controlplane/identity"
	"github.com/looptrace/looptrace/controlplane/instrument"
	"github.com/looptrace/looptrace/controlplane/outbound"
	"github.com/looptrace/looptrace/controlplane/wiring"
	"github.com/looptrace/looptrace/internal/allowedhost"
	"github.com/looptrace/looptrace/internal/ratelimit"
)

// config is the configuration from the environment.
type config struct {
	addr          string
	databaseURL   string
	clickhouseURL string
	services      wiring.Config
	// limits apply to each key and each user.
	limits           ratelimit.Limits
	addresses        httpapi.Addresses
	rateLimitBrokers []string
}

const (
	minSecretBytes = 32
	minSetupToken  = 16
	minWebSecret   = 16
)

func loadConfig(getenv func(string) string) (config, error) {
	cfg := config{addr: getenv("API_ADDR"), databaseURL: getenv("DATABASE_URL"), clickhouseURL: getenv("CLICKHOUSE_URL")}
	if cfg.addr == "" {
		cfg.addr = "127.0.0.1:7081"
	}
	var missing []error
	if cfg.databaseURL == "" {
		missing = append(missing, errors.New("DATABASE_URL is not set; set it to an address such as postgres://user:password@127.0.0.1:7087/looptrace"))
	}
	if cfg.clickhouseURL == "" {
		missing = append(missing, errors.New("CLICKHOUSE_URL is not set; set it to an address such as clickhouse://127.0.0.1:7085/looptrace"))
	}
	var err error
	cfg.services.Identity.Passwords = identity.PasswordCost
	if cfg.services.Identity.SessionSecret, err = parseSecret("SESSION_SECRET", getenv("SESSION_SECRET")); err != nil {
		missing = append(missing, err)
	}
	token := getenv("SETUP_TOKEN")
	if token != "" && len(token) < minSetupToken {
		missing = append(missing, fmt.Errorf("SETUP_TOKEN has %d characters and needs at least %d; generate one with: openssl rand -hex 16", len(token), minSetupToken))
	}
	cfg.services.Identity.SetupToken = token
	if cfg.limits[ratelimit.Requests], err = parseLimit("API_REQUESTS_PER_SECOND", getenv("API_REQUESTS_PER_SECOND"), 1000); err != nil {
		missing = append(missing, err)
	}
	if cfg.limits[ratelimit.Bytes], err = parseLimit("API_BYTES_PER_SECOND", getenv("API_BYTES_PER_SECOND"), 50_000_000); err != nil {
		missing = append(missing, err)
	}
	if cfg.addresses.Web, err = parseAddress("WEB_URL", cmp.Or(getenv("WEB_URL"), "http://127.0.0.1:7090")); err != nil {
		missing = append(missing, err)
	}
	if cfg.addresses.WebSecret = getenv("WEB_SECRET"); cfg.addresses.WebSecret != "" && len(cfg.addresses.WebSecret) < minWebSecret {
		missing = append(missing, fmt.Errorf("WEB_SECRET has %d characters and needs at least %d; generate one with: openssl rand -hex 32", len(cfg.addresses.WebSecret), minWebSecret))
	}
	if public := getenv("PUBLIC_URL"); public != "" {
		if cfg.addresses.Public, err = parseAddress("PUBLIC_URL", public); err != nil {
			missing = append(missing, err)
		}
	}
	if cfg.addresses.Hosts, err = allowedhost.FromEnvironment(getenv); err != nil {
		missing = append(missing, err)
	}
	if cfg.services.IngestURL, err = parseAddress("INGEST_URL", cmp.Or(getenv("INGEST_URL"), "http://127.0.0.1:7080")); err != nil {
		missing = append(missing, err)
	}
	if cfg.services.ProviderSecrets, err = parseProviderSecrets(getenv("PROVIDER_KEYS_SECRET"), cfg.services.Identity.SessionSecret); err != nil {
		missing = append(missing, err)
	}
	if cfg.services.ProviderAddresses, err = outbound.Parse(getenv("PROVIDER_PRIVATE_ADDRESSES")); err != nil {
		missing = append(missing, err)
	}
	if cfg.services.ProviderAddresses, err = cfg.services.ProviderAddresses.Through(getenv("OUTBOUND_PROXY")); err != nil {
		missing = append(missing, err)
	}
	cfg.services.Datasets = datasets.DefaultLimits
	for name, limit := range map[string]*int64{
		datasets.FileRowsSetting: &cfg.services.Datasets.FileRows, datasets.FileBytesSetting: &cfg.services.Datasets.FileBytes, datasets.ItemsSetting: &cfg.services.Datasets.Items,
		datasets.WaitingFilesSetting: &cfg.services.Datasets.WaitingFiles, datasets.WaitingBytesSetting: &cfg.services.Datasets.WaitingBytes,
	} {
		if text := getenv(name); text != "" {
			if *limit, err = strconv.ParseInt(text, 10, 64); err != nil || *limit < 1 {
				missing = append(missing, fmt.Errorf("%s is %q; it must be a whole number from 1", name, text))
			}
		}
	}
	if brokers := getenv("RATELIMIT_BROKERS"); brokers != "" {
		cfg.rateLimitBrokers = strings.Split(brokers, ",")
	}
	return cfg, errors.Join(missing...)
}

func parseAddress(name, text string) (string, error) {
	address, ok := instrument.ValidEndpoint(text)
	if !ok {
		return "", fmt.Errorf("%s is %q; it must be an address such as https://looptrace.example.com", name, text)
	}
	return address, nil
}

// burstSeconds is the size of a burst, in seconds of the rate.
const burstSeconds = 10

// parseLimit parses a rate in units per second. Empty text gives the default.
func parseLimit(name, text string, defaultRate float64) (ratelimit.Limit, error) {
	rate := defaultRate
	if text != "" {
		var err error
		if rate, err = strconv.ParseFloat(text, 64); err != nil || !(rate >= 0 && rate <= ratelimit.MaxRate) {
			return ratelimit.Limit{}, fmt.Errorf("%s is %q; it must be a number between 0 (no limit) and %.0f", name, text, ratelimit.MaxRate)
		}
	}
	return ratelimit.Limit{Rate: rate, Burst: math.Ceil(burstSeconds * rate)}, nil
}

// parseSecret parses a secret of the environment. Its errors do not contain the secret.
func parseSecret(name, text string) ([]byte, error) {
	const advice = "generate one with: openssl rand -hex 32"
	if text == "" {
		return nil, fmt.Errorf("%s is not set; %s", name, advice)
	}
	secret, err := hex.DecodeString(text)
	if err != nil {
		return nil, fmt.Errorf("%s is not hexadecimal; %s", name, advice)
	}
	if len(secret) < minSecretBytes {
		return nil, fmt.Errorf("%s has %d bytes and needs at least %d; %s", name, len(secret), minSecretBytes, advice)
	}
	return secret, nil
}

// parseProviderSecrets parses the secrets for the API keys of model providers. The session secret is the last one, for keys that
// were encrypted before there were others.
func parseProviderSecrets(text string, session []byte) ([][]byte, error) {
	var secrets [][]byte
	if text != "" {
		for one := range strings.SplitSeq(text, ",") {
			secret, err := parseSecret("PROVIDER_KEYS_SECRET", strings.TrimSpace(one))
			if err != nil {
				return nil, err
			}
			secrets = append(secrets, secret)
		}
	}
	if session != nil {
		secrets = append(secrets, session)
	}
	return secrets, nil
}

package apikeyauthextension

import (
	"context"
	"crypto/subtle"
	"net/netip"
	"net/textproto"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/collector/client"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/extension"
	"go.opentelemetry.io/collector/extension/extensionauth"
	"go.opentelemetry.io/collector/extension/extensionmiddleware"
	"go.opentelemetry.io/otel/metric"

	"github.com/looptrace/looptrace/components/apikeyauthextension/internal/metadata"
	"github.com/looptrace/looptrace/internal/apikey"
	"github.com/looptrace/looptrace/internal/componenthealth"
	"github.com/looptrace/looptrace/internal/postgres"
)

type apiKeyAuth struct {
	cfg       *Config
	settings  extension.Settings
	telemetry *metadata.TelemetryBuilder

	keeper *keeper
	// guarding reports whether a receiver uses the middleware.
	guarding atomic.Bool

	stop  context.CancelFunc
	loops sync.WaitGroup
}

var (
	_ extension.Extension            = (*apiKeyAuth)(nil)
	_ extensionauth.Server           = (*apiKeyAuth)(nil)
	_ extensionmiddleware.HTTPServer = (*apiKeyAuth)(nil)
	_ extensionmiddleware.GRPCServer = (*apiKeyAuth)(nil)
)

func newExtension(set extension.Settings, cfg *Config) (*apiKeyAuth, error) {
	telemetry, err := metadata.NewTelemetryBuilder(set.TelemetrySettings)
	if err != nil {
		return nil, err
	}
	return &apiKeyAuth{cfg: cfg, settings: set, telemetry: telemetry}, nil
}

// Start succeeds even if PostgreSQL is away.
func (a *apiKeyAuth) Start(ctx context.Context, host component.Host) error {
	// What is started here ends with Shutdown, not with Start's context.
	ctx, a.stop = context.WithCancel(context.WithoutCancel(ctx))
	pool, err := postgres.Open(ctx, string(a.cfg.DatabaseURL))
	if err != nil {
		return err
	}
	a.keeper, err = newKeeper(a.cfg.Cache, &store{pool: pool}, a.settings.Logger, a.telemetry, func(away error, ready bool) {
		componenthealth.Report(host, away, ready)
	})
	if err != nil {
		pool.Close()
		return err
	}
	if err := a.telemetry.RegisterApikeyauthCacheEntriesCallback(a.observeCache); err != nil {
		pool.Close()
		return err
	}
	for _, loop := range []func(context.Context){
		a.keeper.loader.run,
		a.keeper.revalidateLoop,
		a.keeper.listen,
		a.keeper.noteLoop,
	} {
		a.loops.Go(func() { loop(ctx) })
	}
	return nil
}

// Shutdown ends what Start started and writes the last uses of keys.
func (a *apiKeyAuth) Shutdown(context.Context) error {
	a.telemetry.Shutdown()
	if a.stop == nil {
		return nil
	}
	a.stop()
	a.loops.Wait()
	if a.keeper != nil {
		a.keeper.store.pool.Close()
	}
	return nil
}

func (a *apiKeyAuth) observeCache(_ context.Context, observer metric.Int64Observer) error {
	known, refused := a.keeper.cache.size()
	observer.Observe(int64(known), knownOption)
	observer.Observe(int64(refused), refusedOption)
	return nil
}

// Authenticate refuses a request with a missing or bad key. A request whose key cannot be checked now, or lacks the
// scope, passes with auth data that says so: the middleware answers it.
func (a *apiKeyAuth) Authenticate(ctx context.Context, headers map[string][]string) (context.Context, error) {
	auth, refused := a.authenticate(ctx, headers)
	result := resultOK
	switch {
	case refused != nil:
		result = refused.result
	case auth.state != stateOK:
		result, refused = resultUnavailable, a.unlessGuarded()
	case !apikey.Allows(auth.scopes, a.cfg.RequiredScope):
		result, refused = resultScopeMissing, a.unlessGuarded()
	}
	a.telemetry.ApikeyauthRequests.Add(ctx, 1, result)
	if refused != nil {
		return ctx, refused
	}
	info := client.FromContext(ctx)
	info.Auth = auth
	return client.NewContext(ctx, info), nil
}

func (a *apiKeyAuth) authenticate(ctx context.Context, headers map[string][]string) (*authData, *refusal) {
	text := credential(headers)
	if text == "" {
		return nil, errMissingKey
	}
	key, err := apikey.Parse(text)
	if err != nil {
		return nil, errMalformedKey
	}
	now := time.Now()
	e, err := a.keeper.find(ctx, key.PublicID(), now)
	if err != nil {
		return unavailable, nil //nolint:nilerr // not an error to the authenticator: see the package's comment
	}
	if refused := e.record.judge(key, now); refused != nil {
		return nil, refused
	}
	a.keeper.noteUse(e, now, a.clientOf(ctx, headers))
	return e.record.auth, nil
}

// clientOf returns the address of the client. Web, which proves itself with its secret, says for whom it forwards.
func (a *apiKeyAuth) clientOf(ctx context.Context, headers map[string][]string) netip.Addr {
	proof := header(headers, "Looptrace-Web-Secret")
	if secret := string(a.cfg.WebSecret); secret != "" && len(proof) == 1 && subtle.ConstantTimeCompare([]byte(proof[0]), []byte(secret)) == 1 {
		if told := header(headers, "X-Forwarded-For"); len(told) == 1 {
			if addr, err := netip.ParseAddr(told[0]); err == nil {
				return addr
			}
		}
	}
	peer := client.FromContext(ctx).Addr
	if peer == nil {
		return netip.Addr{}
	}
	if addr, err := netip.ParseAddrPort(peer.String()); err == nil {
		return addr.Addr()
	}
	addr, _ := netip.ParseAddr(peer.String()) // without a port over HTTP; the zero address is "unknown"
	return addr
}

// unlessGuarded refuses what the middleware should answer if no receiver has listed it.
func (a *apiKeyAuth) unlessGuarded() *refusal {
	if a.guarding.Load() {
		return nil
	}
	return errUnguarded
}

// credential returns the text of the key from either of the two headers.
func credential(headers map[string][]string) string {
	for _, value := range header(headers, "Authorization") {
		scheme, text, _ := strings.Cut(strings.TrimSpace(value), " ")
		if strings.EqualFold(scheme, "Bearer") {
			return strings.TrimSpace(text)
		}
	}
	for _, value := range header(headers, "X-Api-Key") {
		return strings.TrimSpace(value)
	}
	return ""
}

// header returns a header, whose name may be in HTTP's canonical form, in lower case as in gRPC, or in any other.
func header(headers map[string][]string, name string) []string {
	if values, ok := headers[name]; ok {
		return values
	}
	if values, ok := headers[strings.ToLower(name)]; ok {
		return values
	}
	for key, values := range headers {
		if textproto.CanonicalMIMEHeaderKey(key) == name {
			return values
		}
	}
	return nil
}

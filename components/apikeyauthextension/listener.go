package apikeyauthextension

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"go.uber.org/zap"

	"github.com/looptrace/looptrace/internal/postgres"
)

// channel is where PostgreSQL notifies of the public id of every key that changes.
const channel = "looptrace_api_keys"

// listen removes changed keys from the cache until the context ends. It makes revocation fast and restored keys
// usable at once. The limit for revoked keys does not depend on it.
func (k *keeper) listen(ctx context.Context) {
	postgres.Listener{
		Config: k.store.pool.Config().ConnConfig, Channel: channel,
		Opened: func(context.Context, *pgx.Conn) error {
			// Changes before the channel was opened were missed.
			k.cache.forgetRefused()
			k.wakeUp()
			return nil
		},
		Notified: func(_ context.Context, _ *pgx.Conn, id string) error {
			// An answer in flight may bring the old key back, until the next revalidation.
			k.cache.forget(id)
			return nil
		},
		Lost: func(_ context.Context, err error, wait time.Duration) {
			k.logger.Debug("Lost the channel of key changes", zap.Error(err), zap.Duration("retry_in", wait))
		},
	}.Run(ctx)
}

package apikeyauthextension

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"
	"go.uber.org/zap"
)

// channel is where PostgreSQL notifies of the public id of every key that changes.
const channel = "looptrace_api_keys"

// Limits of the wait before the channel is opened again.
const (
	minReconnectWait = 100 * time.Millisecond
	maxReconnectWait = 5 * time.Second
)

// listenLoop removes changed keys from the cache until the context ends. It makes revocation fast and restored keys
// usable at once. The limit for revoked keys does not depend on it.
func (k *keeper) listenLoop(ctx context.Context) {
	wait := minReconnectWait
	for {
		heard, err := k.listen(ctx)
		if ctx.Err() != nil {
			return
		}
		if heard {
			wait = minReconnectWait
		}
		k.logger.Debug("Lost the channel of key changes", zap.Error(err), zap.Duration("retry_in", wait))
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait/2 + rand.N(wait)): //nolint:gosec // spreads reconnects, guards nothing
		}
		wait = min(2*wait, maxReconnectWait)
	}
}

// listen opens the channel and follows it until an error. heard reports whether it was opened.
func (k *keeper) listen(ctx context.Context) (heard bool, err error) {
	conn, err := pgx.ConnectConfig(ctx, k.store.pool.Config().ConnConfig)
	if err != nil {
		return false, fmt.Errorf("connect: %w", err)
	}
	defer func() {
		// Ends the session in PostgreSQL even if ctx has ended.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookupTimeout)
		defer cancel()
		_ = conn.Close(ctx)
	}()
	if _, err := conn.Exec(ctx, "LISTEN "+channel); err != nil {
		return false, fmt.Errorf("listen: %w", err)
	}
	// Changes before the channel was opened were missed.
	k.cache.forgetRefused()
	k.wakeUp()
	for {
		notification, err := conn.WaitForNotification(ctx)
		if err != nil {
			return true, fmt.Errorf("wait for a notification: %w", err)
		}
		// An answer in flight may bring the old key back, until the next revalidation.
		k.cache.forget(notification.Payload)
	}
}

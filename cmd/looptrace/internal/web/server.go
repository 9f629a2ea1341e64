package web

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"golang.org/x/net/netutil"

	"github.com/looptrace/looptrace/internal/requestbody"
)

// drainTime is how long running requests may take to end. Streams would never end by themselves.
const drainTime = 2 * time.Second

// bodyLimits are generous: the backends have limits of their own. A slow client may send a file of 2 GiB.
var bodyLimits = requestbody.Limits{Idle: 15 * time.Second, Total: time.Hour}

// maxConnections leaves file descriptors for connections to the backends. More clients wait to be accepted.
const maxConnections = 4096

// Serve serves handler at addr until ctx ends.
func Serve(ctx context.Context, addr string, handler http.Handler, log *slog.Logger) error {
	var listen net.ListenConfig
	listener, err := listen.Listen(ctx, "tcp", addr)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	server := &http.Server{
		Handler:           requestbody.Bound(ctx, handler, bodyLimits),
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(netutil.LimitListener(listener, maxConnections)) }()
	select {
	case err := <-served:
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}
	draining, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTime)
	defer cancel()
	if err := server.Shutdown(draining); errors.Is(err, context.DeadlineExceeded) {
		_ = server.Close() // closes the streams
	} else if err != nil {
		return fmt.Errorf("end the server: %w", err)
	}
	if err := <-served; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve: %w", err)
	}
	return nil
}

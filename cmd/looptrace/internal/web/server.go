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

// drainTime is how long answers under way may take to end; streams would never end by themselves.
const drainTime = 2 * time.Second

// bodyLimits are wide: those who read bodies have limits of their own, and a slow client is to have its 20 MiB taken.
var bodyLimits = requestbody.Limits{Idle: 15 * time.Second, Total: 5 * time.Minute}

// maxConnections leaves a process descriptors to ask the parts behind it with. Who comes beyond waits to be accepted.
const maxConnections = 4096

// Serve answers at addr until ctx ends.
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
		_ = server.Close() // cuts the streams off
	} else if err != nil {
		return fmt.Errorf("end the server: %w", err)
	}
	if err := <-served; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve: %w", err)
	}
	return nil
}

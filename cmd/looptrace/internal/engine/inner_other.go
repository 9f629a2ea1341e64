//go:build !linux

package engine

import (
	"context"
	"fmt"
	"net"
)

// guard exists on Linux only.
type guard struct{}

// await returns once the engine listens.
func (p *innerPort) await(ctx context.Context) error {
	err := until(ctx, func() (bool, error) {
		conn, err := p.dial(ctx)
		if err != nil {
			return false, nil //nolint:nilerr // not yet
		}
		return true, conn.Close()
	})
	if err != nil {
		return fmt.Errorf("wait for ClickHouse to listen: %w", err)
	}
	return nil
}

// dial connects to the engine.
func (p *innerPort) dial(ctx context.Context) (*net.TCPConn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", p.addr())
	if err != nil {
		return nil, fmt.Errorf("connect to ClickHouse: %w", err)
	}
	return conn.(*net.TCPConn), nil
}

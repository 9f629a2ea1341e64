package load

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/looptrace/looptrace/test/product"
)

const (
	// senders bounds the runs under way at once.
	senders = 64
	// attemptTime bounds one attempt to post, as an SDK does.
	attemptTime = 10 * time.Second
	// retryPause is how long a client waits before it posts again; it lies between half and one and a half.
	retryPause = 100 * time.Millisecond
)

// Client offers runs at a steady rate and posts each part again until it is acknowledged.
type Client struct {
	// Ports are those of the processes that take runs. Each request goes to one of them, in turn, and on to the
	// next one where the connection is refused, as a load balancer has it.
	Ports []product.Ports
	Key   string
	// SpansPerSecond is the rate offered.
	SpansPerSecond int
	Shape          Shape
	// Twice sends each request two times, and takes it as acknowledged when both are.
	Twice  bool
	Ledger *Ledger

	turn atomic.Uint64
	grpc connections
}

// Close closes the connections that are kept. The client may be used again.
func (c *Client) Close() error { return c.grpc.close() }

// Send offers runs, from door to door, until ctx ends, and returns when nothing is under way any more. A run
// that is not acknowledged by then is not in the ledger: it may be stored or not.
func (c *Client) Send(ctx context.Context) {
	var sending sync.WaitGroup
	defer sending.Wait()
	free := make(chan struct{}, senders)
	tick := time.NewTicker(time.Second * time.Duration(c.Shape.Spans) / time.Duration(c.SpansPerSecond))
	defer tick.Stop()
	for n := 0; ; n++ {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		select {
		case <-ctx.Done():
			return
		case free <- struct{}{}:
		}
		sending.Go(func() {
			defer func() { <-free }()
			run, bodies := newRun(Door(n)%doors, c.Shape)
			if c.Twice {
				bodies = append(bodies, bodies...)
			}
			for _, body := range bodies {
				if !c.post(ctx, run.Door, body) {
					return
				}
			}
			run.Accepted = time.Now()
			c.Ledger.acknowledge(run)
		})
	}
}

// One sends one run by a door, with one attempt a part, and tells why it was not acknowledged.
func (c *Client) One(ctx context.Context, door Door) error {
	run, bodies := newRun(door, c.Shape)
	for _, body := range bodies {
		answer, err := c.try(ctx, door, body)
		if err != nil {
			return err
		}
		if answer.Status != door.accepted() {
			return fmt.Errorf("%s answers %d: %.200s", door, answer.Status, answer.Body)
		}
	}
	run.Accepted = time.Now()
	c.Ledger.acknowledge(run)
	return nil
}

// post sends a body until it is acknowledged, and tells whether it was before ctx ended.
func (c *Client) post(ctx context.Context, door Door, body []byte) bool {
	for again := false; ; again = true {
		attempt, cancel := context.WithTimeout(ctx, attemptTime)
		begin := time.Now()
		answer, err := c.try(attempt, door, body)
		cancel()
		switch {
		case ctx.Err() != nil:
			return false
		case err == nil && answer.Status == door.accepted():
			c.Ledger.attempt(Attempt{Door: door, Begin: begin, End: time.Now(), Again: again})
			return true
		case err == nil:
			err = fmt.Errorf("%s answers %d: %.200s", door, answer.Status, answer.Body)
			if !retryable(answer.Status) {
				c.Ledger.refuse(err)
				return false
			}
		}
		c.Ledger.attempt(Attempt{Door: door, Begin: begin, End: time.Now(), Again: again, Err: err})
		select {
		case <-ctx.Done():
			return false
		case <-time.After(retryPause/2 + rand.N(retryPause)):
		}
	}
}

// try posts a body to the next process, and to the others where no connection is to be had: then nothing was sent.
func (c *Client) try(ctx context.Context, door Door, body []byte) (answer product.Answer, err error) {
	turn := c.turn.Add(1)
	for i := range uint64(len(c.Ports)) {
		ports := c.Ports[(turn+i)%uint64(len(c.Ports))]
		if door == GRPC {
			answer, err = c.grpc.export(ctx, ports, c.Key, body)
		} else {
			answer, err = product.Post(ctx, door.url(ports), c.Key, door.contentType(), body)
		}
		if !errors.Is(err, syscall.ECONNREFUSED) {
			return answer, err
		}
	}
	return answer, err
}

// retryable are the statuses that OTLP has clients retry.
func retryable(status int) bool {
	switch status {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	default:
		return false
	}
}

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
	// senders limits the concurrent runs.
	senders = 64
	// attemptTime limits one attempt to post, like an SDK.
	attemptTime = 10 * time.Second
	// retryPause is the average pause before a retry, which is between half and one and a half of it.
	retryPause = 100 * time.Millisecond
)

// Client offers runs at a steady rate and retries each part until it is acknowledged.
type Client struct {
	// Ports are those of the ingest processes. Each request is sent to one of them in turn, and to the next one if the
	// connection is refused, like by a load balancer.
	Ports []product.Ports
	Key   string
	// SpansPerSecond is the offered rate.
	SpansPerSecond int
	// Endpoints are those that get runs, in turn. None means all.
	Endpoints []Endpoint
	Shape     Shape
	// Twice sends each request twice, and counts it as acknowledged when both are.
	Twice  bool
	Ledger *Ledger

	turn atomic.Uint64
	grpc connections
}

// Close closes idle connections. The client may be used again.
func (c *Client) Close() error { return c.grpc.close() }

// Send offers runs to the endpoints in turn until ctx ends, and returns when nothing is in progress. A run that is
// not acknowledged by then is not in the ledger: it may be stored or not.
func (c *Client) Send(ctx context.Context) {
	var sending sync.WaitGroup
	defer sending.Wait()
	free := make(chan struct{}, senders)
	tick := time.NewTicker(time.Second * time.Duration(c.Shape.Spans) / time.Duration(c.SpansPerSecond))
	defer tick.Stop()
	endpoints := c.Endpoints
	if len(endpoints) == 0 {
		endpoints = Endpoints()
	}
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
			run, bodies := newRun(endpoints[n%len(endpoints)], c.Shape)
			if c.Twice {
				bodies = append(bodies, bodies...)
			}
			for _, body := range bodies {
				if !c.post(ctx, run.Endpoint, body) {
					return
				}
			}
			run.Accepted = time.Now()
			c.Ledger.acknowledge(run)
		})
	}
}

// One sends one run to an endpoint, with one attempt per part, and returns why it was not acknowledged.
func (c *Client) One(ctx context.Context, endpoint Endpoint) error {
	run, bodies := newRun(endpoint, c.Shape)
	for _, body := range bodies {
		answer, err := c.try(ctx, endpoint, body)
		if err != nil {
			return err
		}
		if answer.Status != endpoint.accepted() {
			return fmt.Errorf("%s answers %d: %.200s", endpoint, answer.Status, answer.Body)
		}
	}
	run.Accepted = time.Now()
	c.Ledger.acknowledge(run)
	return nil
}

// post sends a body until it is acknowledged, and reports whether it was before ctx ended.
func (c *Client) post(ctx context.Context, endpoint Endpoint, body []byte) bool {
	for again := false; ; again = true {
		attempt, cancel := context.WithTimeout(ctx, attemptTime)
		begin := time.Now()
		answer, err := c.try(attempt, endpoint, body)
		cancel()
		switch {
		case ctx.Err() != nil:
			return false
		case err == nil && answer.Status == endpoint.accepted():
			c.Ledger.attempt(Attempt{Endpoint: endpoint, Begin: begin, End: time.Now(), Again: again})
			return true
		case err == nil:
			err = fmt.Errorf("%s answers %d: %.200s", endpoint, answer.Status, answer.Body)
			if !retryable(answer.Status) {
				c.Ledger.refuse(err)
				return false
			}
		}
		c.Ledger.attempt(Attempt{Endpoint: endpoint, Begin: begin, End: time.Now(), Again: again, Err: err})
		select {
		case <-ctx.Done():
			return false
		case <-time.After(retryPause/2 + rand.N(retryPause)):
		}
	}
}

// try posts a body to the next process, or to the others if the connection fails: then nothing was sent.
func (c *Client) try(ctx context.Context, endpoint Endpoint, body []byte) (answer product.Answer, err error) {
	turn := c.turn.Add(1)
	for i := range uint64(len(c.Ports)) {
		ports := c.Ports[(turn+i)%uint64(len(c.Ports))]
		if endpoint == GRPC {
			answer, err = c.grpc.export(ctx, ports, c.Key, body)
		} else {
			answer, err = product.Post(ctx, endpoint.url(ports), c.Key, endpoint.contentType(), body)
		}
		if !errors.Is(err, syscall.ECONNREFUSED) {
			return answer, err
		}
	}
	return answer, err
}

// retryable are the statuses that OTLP clients retry.
func retryable(status int) bool {
	switch status {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	default:
		return false
	}
}

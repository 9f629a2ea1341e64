// Package readiness asks the parts of the product for their readiness.
package readiness

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"

	"github.com/looptrace/looptrace/cmd/looptrace/internal/layout"
)

// maxBody limits the size of a response.
const maxBody = 64 << 10

// Part is a part of the product that answers /readyz.
type Part struct {
	// Name is the part's name in messages.
	Name string
	// Base is its base address, such as http://127.0.0.1:7081.
	Base string
}

// Parts returns the parts of an instance on this machine that use the stores and the queue.
func Parts(ports layout.Ports) []Part {
	return []Part{
		{Name: "collector", Base: "http://" + ports.CollectorHealth.Addr()},
		{Name: "controlplane", Base: "http://" + ports.API.Addr()},
	}
}

// client keeps no connections, because requests are rare.
var client = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

// Ask returns nil if the part is ready, else its problems in one line. degraded are failed checks of a part that is
// ready all the same.
func (p Part) Ask(ctx context.Context) (degraded []string, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.Base+"/readyz", http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("ask %s: %w", p.Name, err)
	}
	response, err := client.Do(request)
	var late net.Error
	if errors.As(err, &late) && late.Timeout() {
		return nil, fmt.Errorf("ask %s: it does not answer: its process hangs or is overloaded. If that lasts, kill it, and it is started again", p.Name)
	}
	if err != nil {
		return nil, fmt.Errorf("ask %s: %w", p.Name, err)
	}
	defer func() { _ = response.Body.Close() }() // it was read, or its error is returned
	var answer struct {
		Checks map[string]string `json:"checks"`
	}
	if err := json.NewDecoder(io.LimitReader(response.Body, maxBody)).Decode(&answer); err != nil {
		return nil, fmt.Errorf("ask %s: it answers %s: %w", p.Name, response.Status, err)
	}
	var wrong []string
	for _, check := range slices.Sorted(maps.Keys(answer.Checks)) {
		if answer.Checks[check] != "ok" {
			wrong = append(wrong, check+": "+answer.Checks[check])
		}
	}
	if response.StatusCode == http.StatusOK {
		return wrong, nil
	}
	if len(wrong) == 0 {
		return nil, fmt.Errorf("ask %s: it answers %s", p.Name, response.Status)
	}
	return nil, errors.New(strings.Join(wrong, "; "))
}

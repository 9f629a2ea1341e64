// Package readiness asks the parts of the product whether they do their work.
package readiness

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/looptrace/looptrace/cmd/looptrace/internal/layout"
)

// maxBody bounds what is read of an answer.
const maxBody = 64 << 10

// Part is a part of the product that answers /readyz.
type Part struct {
	// Name is what the part is called in messages.
	Name string
	// Base is its address, as http://host:port.
	Base string
}

// Parts are those of an instance on this machine that work on stores and queue.
func Parts(ports layout.Ports) []Part {
	return []Part{
		{Name: "collector", Base: "http://" + ports.CollectorHealth.Addr()},
		{Name: "controlplane", Base: "http://" + ports.API.Addr()},
	}
}

// client leaves no connection behind: a question is seldom followed by another.
var client = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

// Ask returns nil when the part does its work, else what it says of itself, in one line. Degraded are the checks that
// it reports as wrong while it does its work all the same.
func (p Part) Ask(ctx context.Context) (degraded []string, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.Base+"/readyz", http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("ask %s: %w", p.Name, err)
	}
	response, err := client.Do(request)
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

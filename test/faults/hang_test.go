package faults

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/internal/apikey"
	"github.com/looptrace/looptrace/test/faults/report"
	"github.com/looptrace/looptrace/test/product"
	"github.com/looptrace/looptrace/test/product/load"
)

// answersWithin is how soon an operation reports that a part does not answer. Ingest waits 10 s for the queue
// (queue_timeout).
var answersWithin = map[string]time.Duration{
	product.ClickHouseProcess: 10 * time.Second, product.PostgresProcess: 10 * time.Second, product.BrokerProcess: 13 * time.Second,
}

// operation is a request to the product while a part hangs.
type operation struct {
	name string
	// needs are the parts without which it fails.
	needs []string
	ask   func(context.Context) (answer string, ok bool, err error)
}

// hung are the parts that are made to hang.
var hung = []string{product.ClickHouseProcess, product.PostgresProcess, product.BrokerProcess}

// TestHang halts (SIGSTOP) ClickHouse, PostgreSQL and the queue, one after the other, under load: each accepts
// connections and does not answer. Operations that need it must fail soon, the others must work as usual, and
// afterwards nothing may be lost.
func TestHang(t *testing.T) {
	s := newSite(t)
	hang := scaled(15*time.Second, 30*time.Second)
	operations := s.operations(t)
	table := map[string]map[string]string{}
	for _, part := range hung {
		t.Run(part, func(t *testing.T) {
			for _, o := range operations {
				_, ok, err := o.ask(t.Context())
				require.NoError(t, err, o.name)
				require.True(t, ok, o.name)
			}
			stop := s.send(t)
			r := s.newRow(t, part+" hangs", fmt.Sprintf("%s at %d spans/s", hang, s.client.SpansPerSecond))
			thaw := s.freeze(t, part)
			begin := time.Now()
			table[part] = askWhile(t, begin.Add(hang), part, operations)
			back := time.Now()
			thaw()
			s.awaitBack(t, r, back)
			stop()
			if part != product.BrokerProcess {
				answered, failed := s.answers(begin, back)
				assert.Zero(t, failed, "attempts to ingest while %s hung", part)
				r.Note("%d of %d requests accepted at once", len(answered)-failed, len(answered))
			}
			r.verify(t, visibleWithin)
		})
	}
	rows := [][]string{append([]string{"operation"}, hung...)}
	for _, o := range operations {
		row := []string{o.name}
		for _, part := range hung {
			row = append(row, table[part][o.name])
		}
		rows = append(rows, row)
	}
	report.PrintTable(t, "hung", rows)
}

// askWhile repeats each operation until a time, and returns its results.
func askWhile(t *testing.T, until time.Time, part string, operations []operation) map[string]string {
	t.Helper()
	var (
		mu      sync.Mutex
		asking  sync.WaitGroup
		answers = map[string]string{}
	)
	for _, o := range operations {
		asking.Go(func() {
			pace := time.NewTicker(500 * time.Millisecond)
			defer pace.Stop()
			var seen []string
			var slowest time.Duration
			for time.Now().Before(until) {
				ctx, cancel := context.WithDeadline(t.Context(), until)
				begin := time.Now()
				answer, ok, err := o.ask(ctx)
				cancel()
				took := time.Since(begin)
				if !time.Now().Before(until) {
					assert.Less(t, took, answersWithin[part], "%s has not answered while %s hung", o.name, part)
					break // cancelled at the end
				}
				if err != nil {
					t.Errorf("%s while %s hung: %v", o.name, part, err)
					break
				}
				assert.Equal(t, !slices.Contains(o.needs, part), ok, "%s while %s hung: %s", o.name, part, answer)
				assert.Less(t, took, answersWithin[part], "%s while %s hung: %s", o.name, part, answer)
				slowest = max(slowest, took)
				if !slices.Contains(seen, answer) {
					seen = append(seen, answer)
				}
				<-pace.C
			}
			mu.Lock()
			defer mu.Unlock()
			assert.NotEmpty(t, seen, "%s while %s hung", o.name, part)
			answers[o.name] = fmt.Sprintf("%s, ≤ %.1f s", strings.Join(seen, " or "), slowest.Seconds())
		})
	}
	asking.Wait()
	return answers
}

// freeze halts a part and its child processes until the returned function is called.
func (s *site) freeze(t *testing.T, name string) (thaw func()) {
	t.Helper()
	var halted []int
	thaw = func() {
		for _, pid := range halted {
			_ = syscall.Kill(pid, syscall.SIGCONT) // ended processes need no signal
		}
	}
	t.Cleanup(thaw)
	processes, err := s.product.Processes()
	require.NoError(t, err)
	for _, process := range processes { // parents first: a halted one starts none
		if process.Name == name || slices.Contains(halted, process.Parent) {
			halted = append(halted, process.PID)
			require.NoError(t, syscall.Kill(process.PID, syscall.SIGSTOP))
		}
	}
	require.NotEmpty(t, halted)
	return thaw
}

// operations are of every kind: reads by people and agents, changes, pages, ingest at every endpoint.
func (s *site) operations(t *testing.T) []operation {
	t.Helper()
	key, err := s.account.Key(t.Context(), "hang", "admin", "runs:read", "ingest:write")
	require.NoError(t, err)
	s.awaitVisible(t, visibleWithin)
	runs := s.client.Ledger.Runs(0)
	run, of := "/v1/runs/"+runs[len(runs)-1].ID.String(), "?project_id="+s.account.ProjectID
	project := "/v1/projects/" + s.account.ProjectID
	ports := s.product.Ports
	const store, identities, queue = product.ClickHouseProcess, product.PostgresProcess, product.BrokerProcess
	api := func(name, method, path, body string, needs ...string) operation {
		return operation{name, append(needs, identities), func(ctx context.Context) (string, bool, error) {
			return ask(ctx, method, ports.URL(product.Web)+path, key, body)
		}}
	}
	tool := func(name, call string) operation {
		body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":` + call + `}`
		return operation{"MCP " + name, []string{store, identities}, func(ctx context.Context) (string, bool, error) {
			return ask(ctx, http.MethodPost, ports.URL(product.Web)+"/mcp", key, body)
		}}
	}
	all := []operation{
		api("list of runs", http.MethodGet, "/v1/runs"+of, "", store),
		api("search", http.MethodGet, "/v1/runs"+of+"&search=word", "", store),
		api("run", http.MethodGet, run, "", store),
		api("its spans", http.MethodGet, run+"/spans", "", store),
		api("agent view", http.MethodGet, run+"/agent-view", "", store),
		api("figures of runs", http.MethodGet, "/v1/runs/stats"+of+"&group_by=name", "", store),
		api("export", http.MethodGet, "/v1/runs/export"+of+"&session_id=none", "", store),
		api("stream", http.MethodGet, "/v1/runs/stream"+of, "", store),
		tool("search", `{"name":"runs.search","arguments":{}}`),
		tool("read", `{"name":"runs.read","arguments":{"run_id":"`+runs[len(runs)-1].ID.String()+`"}}`),
		tool("failures", `{"name":"runs.failures","arguments":{}}`),
		tool("diff", `{"name":"runs.diff","arguments":{"run_id":"`+runs[len(runs)-1].ID.String()+`","other_run_id":"`+runs[0].ID.String()+`"}}`),
		api("score of a run", http.MethodPost, run+"/scores", `{"name":"good","value":true}`, store),
		api("project", http.MethodGet, project, ""),
		api("keys", http.MethodGet, "/v1/keys"+of, ""),
		api("change of a project", http.MethodPatch, project, `{"name":"Default"}`),
		{"page of the UI", nil, func(ctx context.Context) (string, bool, error) {
			return ask(ctx, http.MethodGet, ports.URL(product.Web)+"/", "", "")
		}},
		{"`/readyz` of the API", []string{store, identities}, func(ctx context.Context) (string, bool, error) {
			return ask(ctx, http.MethodGet, ports.URL(product.API)+"/readyz", "", "")
		}},
		{"ingest, a key that is not known", []string{identities}, func(ctx context.Context) (string, bool, error) {
			answer, _, err := ask(ctx, http.MethodPost, ports.URL(product.Ingest)+"/v1/runs", apikey.Mint().Reveal(), `{"runs":[]}`)
			return answer, answer == fmt.Sprint(http.StatusUnauthorized), err
		}},
	}
	for _, endpoint := range load.Endpoints() {
		all = append(all, operation{"ingest, " + endpoint.String(), []string{queue}, func(ctx context.Context) (string, bool, error) {
			return s.offer(ctx, endpoint)
		}})
	}
	return all
}

// ask sends a request and returns its status. It does not read the rest of a stream.
func ask(ctx context.Context, method, url, key, body string) (answer string, ok bool, err error) {
	request, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return "", false, fmt.Errorf("make a request: %w", err)
	}
	request.Header.Set("Accept", "application/json, text/event-stream")
	if key != "" {
		request.Header.Set("Authorization", "Bearer "+key)
	}
	if body != "" {
		request.Header.Set("Content-Type", product.JSON)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", false, fmt.Errorf("ask: %w", err)
	}
	defer response.Body.Close()
	answer = fmt.Sprint(response.StatusCode)
	if strings.HasSuffix(request.URL.Path, "/stream") {
		return answer, response.StatusCode == http.StatusOK, nil
	}
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return "", false, fmt.Errorf("read an answer: %w", err)
	}
	if bytes.Contains(text, []byte(`"isError":true`)) {
		return answer + " that tells the model", false, nil
	}
	return answer, response.StatusCode < http.StatusBadRequest, nil
}

// offer sends a run to an endpoint.
func (s *site) offer(ctx context.Context, endpoint load.Endpoint) (answer string, ok bool, err error) {
	err = s.client.One(ctx, endpoint)
	if err == nil {
		return "accepted", true, nil
	}
	var status int
	if _, none := fmt.Sscanf(err.Error(), endpoint.String()+" answers %d:", &status); none != nil {
		return "", false, err
	}
	return fmt.Sprint(status), false, nil
}

// Package faults kills the parts of the running product, one at a time and at random moments, while clients
// keep sending: the rest must go on, the part must come back, and every run that was acknowledged must be
// there afterwards, whole and once.
package faults

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/test/product"
	"github.com/looptrace/looptrace/test/product/load"
)

const (
	// backWithin is how soon a killed part should serve again; a killed launcher is started again by the test,
	// which the whole product then has to follow. A slower return is reported with the logs of that moment;
	// since the machine may be busy with other things, only one past patience fails.
	backWithin         = 5 * time.Second
	launcherBackWithin = 10 * time.Second
	// patience is how long a part is waited for before the test gives up, so that a slow one is told apart
	// from one that never comes.
	patience = time.Minute
	// visibleWithin is what the definition of loss allows: not readable so long after the recovery.
	visibleWithin = time.Minute
	// outageTime is how long a part is kept away.
	outageTime = 2 * time.Second
	// longestWait is the most runs that are acknowledged between a recovery and the next kill.
	longestWait = 60
)

// rounds is how often each part is killed.
func rounds(t *testing.T) int {
	t.Helper()
	const name, standard = "FAULT_ROUNDS", 2
	given := os.Getenv(name)
	if given == "" {
		return standard
	}
	n, err := strconv.Atoi(given)
	require.NoError(t, err, name)
	return n
}

// site is the product under load.
type site struct {
	product *product.Product
	account *product.Account
	client  *load.Client
	reader  product.Reader // by the address that people open
	api     product.Reader // by the API's own
}

func newSite(t *testing.T) *site {
	t.Helper()
	p := product.Start(t)
	account, err := p.Setup(t.Context())
	require.NoError(t, err)
	key, err := account.Key(t.Context(), "faults", "ingest:write", "runs:read")
	require.NoError(t, err)
	s := &site{
		product: p, account: account,
		client: &load.Client{
			Ports: []product.Ports{p.Ports}, Key: key, SpansPerSecond: 200, SpansPerRun: 7, InParts: true, Ledger: &load.Ledger{},
		},
		reader: product.Reader{Base: p.Ports.URL(product.Web), Key: key},
		api:    product.Reader{Base: p.Ports.URL(product.API), Key: key},
	}
	for _, door := range load.Doors() { // each door has verified the key once
		require.NoError(t, s.client.One(t.Context(), door))
	}
	return s
}

// part is a process to kill, and what goes on without it.
type part struct {
	name string
	// ingest tells that every door goes on to accept.
	ingest bool
	// goesOn are further proofs.
	goesOn []func(context.Context, *site) error
}

var parts = []part{
	{name: product.WebProcess, ingest: true, goesOn: []func(context.Context, *site) error{apiReads}},
	{name: product.ControlPlaneProcess, ingest: true, goesOn: []func(context.Context, *site) error{webServesUI}},
	{name: product.ClickHouseProcess, ingest: true, goesOn: []func(context.Context, *site) error{webServesUI, identityAnswers}},
	{name: product.PostgresProcess, ingest: true, goesOn: []func(context.Context, *site) error{webServesUI}},
	{name: product.CollectorProcess, goesOn: []func(context.Context, *site) error{webServesUI, identityAnswers, apiReads, webReads}},
	{name: product.BrokerProcess, goesOn: []func(context.Context, *site) error{webServesUI, identityAnswers, apiReads, webReads, ingestAsksToRetry}},
}

func apiReads(ctx context.Context, s *site) error { return s.lists(ctx, s.api) }

func webReads(ctx context.Context, s *site) error { return s.lists(ctx, s.reader) }

func (s *site) lists(ctx context.Context, reader product.Reader) error {
	return answersOK(reader.Get(ctx, "/v1/runs?limit=1&project_id="+s.account.ProjectID, &struct{}{}))
}

func identityAnswers(ctx context.Context, s *site) error {
	return answersOK(s.api.Get(ctx, "/v1/me", &struct{}{}))
}

func answersOK(status int, err error) error {
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("the API answers %d", status)
	}
	return err
}

func webServesUI(ctx context.Context, s *site) error {
	answer, err := product.Do(ctx, http.MethodGet, s.product.Ports.URL(product.Web)+"/", nil, nil)
	if err == nil && answer.Status != http.StatusOK {
		err = fmt.Errorf("web answers %d", answer.Status)
	}
	return err
}

// ingestAsksToRetry proves that what cannot be queued is not acknowledged, and that the client is told when
// to come again.
func ingestAsksToRetry(ctx context.Context, s *site) error {
	answer, err := product.Post(ctx, s.product.Ports.URL(product.Ingest)+"/v1/traces", s.client.Key, product.JSON,
		[]byte(`{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"0af7651916cd43dd8448eb211c80319c","spanId":"b7ad6b7169203331","name":"n","startTimeUnixNano":"1"}]}]}]}`))
	if err == nil && (answer.Status != http.StatusServiceUnavailable || answer.Header.Get("Retry-After") == "") {
		err = fmt.Errorf("ingest answers %d, Retry-After %q", answer.Status, answer.Header.Get("Retry-After"))
	}
	return err
}

func TestFaults(t *testing.T) {
	s := newSite(t)
	sending, stop := context.WithCancel(t.Context())
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		s.client.Send(sending)
	}()
	t.Cleanup(func() {
		stop()
		<-sent
	})

	for _, part := range parts {
		t.Run("without "+part.name, func(t *testing.T) { s.withhold(t, part) })
	}
	victims := append([]part{{name: product.LauncherProcess}}, parts...)
	for range rounds(t) {
		rand.Shuffle(len(victims), func(i, j int) { victims[i], victims[j] = victims[j], victims[i] })
		for _, part := range victims {
			t.Run("kill "+part.name, func(t *testing.T) { s.kill(t, part) })
		}
	}

	stop()
	<-sent
	runs := s.client.Ledger.Runs(0)
	t.Logf("%d runs were acknowledged", len(runs))
	require.Empty(t, s.client.Ledger.Refusals(), "a valid request was refused for good")
	require.NoError(t, load.Verify(t.Context(), s.reader, s.account.ProjectID, runs, visibleWithin))
}

// withhold kills a part while the launcher is halted, so that it stays away for a while, and proves what goes
// on meanwhile.
func (s *site) withhold(t *testing.T, part part) {
	t.Helper()
	launcher := s.product.Launched()
	require.NoError(t, syscall.Kill(launcher, syscall.SIGSTOP))
	resume := func() { _ = syscall.Kill(launcher, syscall.SIGCONT) } // it is there: it is halted
	defer resume()
	old := s.strike(t, part.name)
	// Not faster: what the parts log waits in their pipes while the launcher does not read.
	pace := time.NewTicker(100 * time.Millisecond)
	defer pace.Stop()
	begin := time.Now()
	for asked := 0; time.Since(begin) < outageTime; asked++ {
		<-pace.C
		if part.ingest {
			door := load.Doors()[asked%len(load.Doors())]
			require.NoError(t, s.client.One(t.Context(), door), "ingest without %s", part.name)
		}
		for _, goesOn := range part.goesOn {
			require.NoError(t, goesOn(t.Context(), s), "without %s", part.name)
		}
	}
	resume()
	s.awaitBack(t, part, old, time.Now(), backWithin)
}

// kill kills a part at a random moment and waits until all is back.
func (s *site) kill(t *testing.T, part part) {
	t.Helper()
	s.awaitRuns(t, rand.IntN(longestWait))
	begin, within := time.Now(), backWithin
	old := s.strike(t, part.name)
	if part.name == product.LauncherProcess {
		s.product.Kill() // returns when it is gone
		begin, within = time.Now(), launcherBackWithin
		require.NoError(t, s.product.Launch())
	}
	s.awaitBack(t, part, old, begin, within)
	if part.ingest {
		for _, attempt := range s.client.Ledger.Attempts(begin, time.Now()) {
			require.NoError(t, attempt.Err, "ingest while %s was away", part.name)
		}
	}
}

// strike sends SIGKILL and returns the process id.
func (s *site) strike(t *testing.T, name string) int {
	t.Helper()
	pid, err := s.product.PID(name)
	require.NoError(t, err)
	require.NotZero(t, pid, "%s does not run", name)
	require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
	return pid
}

// awaitRuns waits until so many more runs are acknowledged.
func (s *site) awaitRuns(t *testing.T, more int) {
	t.Helper()
	from := len(s.client.Ledger.Runs(0))
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	require.NoError(t, product.Wait(ctx, func(context.Context) error {
		if missing := more - len(s.client.Ledger.Runs(from)); missing > 0 {
			return fmt.Errorf("%d more runs are to be acknowledged", missing)
		}
		return nil
	}))
}

// awaitBack waits until another process stands in the killed one's place and the product is whole: all is
// ready, each door accepts, and what was accepted then can be read.
func (s *site) awaitBack(t *testing.T, part part, old int, begin time.Time, within time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	err := product.Wait(ctx, func(ctx context.Context) error {
		pid, err := s.product.PID(part.name)
		if err != nil {
			return err
		}
		if pid == 0 || pid == old {
			return errors.New("it is not started yet")
		}
		if err := s.product.Ready(ctx); err != nil {
			return err
		}
		for _, door := range load.Doors() {
			if err := s.client.One(ctx, door); err != nil {
				return err
			}
		}
		return nil
	})
	accepts := time.Since(begin)
	require.NoError(t, err, "%s is not back", part.name)
	runs := s.client.Ledger.Runs(0)
	newest := runs[len(runs)-1]
	err = product.Wait(ctx, func(ctx context.Context) error {
		run, _, err := s.reader.Run(ctx, newest.ID.String())
		if err == nil && !newest.Shown(run) {
			err = fmt.Errorf("run %s is not visible", newest.ID)
		}
		return err
	})
	took := time.Since(begin)
	require.NoError(t, err, "%s is not back", part.name)
	failed := 0
	attempts := s.client.Ledger.Attempts(begin, time.Now())
	for _, attempt := range attempts {
		if attempt.Err != nil {
			failed++
		}
	}
	t.Logf("%s: all accepts after %.2f s and is visible after %.2f s; %d of %d posts meanwhile had to be tried again",
		part.name, accepts.Seconds(), took.Seconds(), failed, len(attempts))
	if took > within {
		t.Logf("SLOW: %s took longer than %s to come back\n%s", part.name, within, s.product.Logs())
	}
}

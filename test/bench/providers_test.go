package bench

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/internal/apikey"
	"github.com/looptrace/looptrace/test/product"
	"github.com/looptrace/looptrace/test/provider"
)

// providerBench calls a scripted provider directly and through the product as `looptrace up` starts it.
type providerBench struct {
	t          *testing.T
	up         *product.Product
	server     *provider.Server
	key        string
	project    string
	connection string
}

// TestProviders measures the time to the first token of streamed calls by turns, directly and through the product, and BENCH_PROVIDER_CALLS
// calls of 200 ms, 50 at once. The limit beside it is the time in which a provider can answer them.
func TestProviders(t *testing.T) {
	calls, _ := strconv.Atoi(os.Getenv("BENCH_PROVIDER_CALLS"))
	if calls == 0 {
		t.Skip("see make bench-providers")
	}
	load := loadAverage()
	up := product.Start(t)
	account, err := up.Setup(t.Context())
	require.NoError(t, err)
	key, err := account.Key(t.Context(), "bench", apikey.ScopeAdmin)
	require.NoError(t, err)
	b := &providerBench{t: t, up: up, server: provider.Start(t, provider.Options{}), key: key, project: account.ProjectID}
	b.connect()
	fmt.Printf("%d cores of %s, load before the start %s; %d calls\n", runtime.NumCPU(), runtime.GOARCH, load, calls)
	b.firstTokens(calls / 2)
	b.many(calls)
}

func (b *providerBench) connect() {
	body := fmt.Sprintf(`{"project_id":%q,"name":"scripted","kind":"openai","base_url":"%s/v1","api_key":%q,"max_concurrency":50}`, b.project, b.server.URL, b.server.Key)
	answer := b.post(b.up.Ports.URL(product.Web)+"/v1/providers", b.key, body)
	defer func() { require.NoError(b.t, answer.Body.Close()) }()
	var made struct{ ID string }
	require.NoError(b.t, json.NewDecoder(answer.Body).Decode(&made))
	b.connection = made.ID
}

func (b *providerBench) post(url, key, body string) *http.Response {
	request, err := http.NewRequestWithContext(b.t.Context(), http.MethodPost, url, strings.NewReader(body))
	require.NoError(b.t, err)
	request.Header.Set("Authorization", "Bearer "+key)
	request.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(request)
	require.NoError(b.t, err)
	require.Less(b.t, answer.StatusCode, 300)
	return answer
}

const question = `"messages":[{"role":"user","content":"What is the capital of France?"}]`

// directly and through make one call. first is the time to its first token, 0 if it is not streamed.
func (b *providerBench) directly(model string, stream bool) (first time.Duration) {
	return b.call(b.server.URL+"/v1/chat/completions", b.server.Key, fmt.Sprintf(`{"model":%q,"stream":%t,%s}`, model, stream, question), `"content":"`, stream)
}

func (b *providerBench) through(model string, stream bool) (first time.Duration) {
	body := fmt.Sprintf(`{"project_id":%q,"provider_id":%q,"stream":%t,"model_config":{"model":%q},%s}`, b.project, b.connection, stream, model, question)
	return b.call(b.up.Ports.URL(product.Web)+"/v1/playground/completions", b.key, body, `{"text":"`, stream)
}

func (b *providerBench) call(url, key, body, token string, stream bool) (first time.Duration) {
	begin := time.Now()
	answer := b.post(url, key, body)
	defer func() { require.NoError(b.t, answer.Body.Close()) }()
	if !stream {
		_, err := io.Copy(io.Discard, answer.Body)
		require.NoError(b.t, err)
		return 0
	}
	lines := bufio.NewScanner(answer.Body)
	for lines.Scan() {
		text := lines.Bytes()
		if at := bytes.Index(text, []byte(token)); first == 0 && at >= 0 && text[at+len(token)] != '"' {
			first = time.Since(begin)
		}
		require.NotContains(b.t, lines.Text(), "event: error")
	}
	require.NoError(b.t, lines.Err())
	require.NotZero(b.t, first)
	return first
}

func (b *providerBench) firstTokens(calls int) {
	const model = "text@20ms+1ms"
	var direct, through []time.Duration
	for i := range calls {
		one, other := b.directly(model, true), b.through(model, true)
		if i >= 20 { // connections are open and statements prepared
			direct, through = append(direct, one), append(through, other)
		}
	}
	slices.Sort(direct)
	slices.Sort(through)
	at := func(list []time.Duration, share float64) float64 {
		return list[int(share*float64(len(list)-1))].Seconds() * 1000
	}
	fmt.Printf("first token, streamed  directly p50 %.1f ms, p95 %.1f ms; through the API p50 %.1f ms, p95 %.1f ms: +%.1f, +%.1f ms\n",
		at(direct, .5), at(direct, .95), at(through, .5), at(through, .95), at(through, .5)-at(direct, .5), at(through, .95)-at(direct, .95))
}

func (b *providerBench) many(calls int) {
	const atOnce, each = 50, 200 * time.Millisecond
	run := func(call func(string, bool) time.Duration) time.Duration {
		begin := time.Now()
		work := make(chan struct{}, calls)
		for range calls {
			work <- struct{}{}
		}
		close(work)
		var all sync.WaitGroup
		for range atOnce {
			all.Go(func() {
				for range work {
					call("text@"+each.String(), false)
				}
			})
		}
		all.Wait()
		return time.Since(begin)
	}
	time.Sleep(5 * time.Second)
	idle := b.rss()
	ideal := time.Duration(calls/atOnce) * each
	direct := run(b.directly)
	peak := idle
	done := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() {
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				peak = max(peak, b.rss())
			}
		}
	})
	through := run(b.through)
	close(done)
	watching.Wait()
	fmt.Printf("%d calls of %s, %d at once  ideal %.2f s; directly %.2f s (%.2f); through the API %.2f s (%.2f)\n",
		calls, each, atOnce, ideal.Seconds(), direct.Seconds(), direct.Seconds()/ideal.Seconds(), through.Seconds(), through.Seconds()/ideal.Seconds())
	fmt.Printf("control plane RSS      idle %d MB, peak %d MB, +%d MB\n", idle/1e6, peak/1e6, (peak-idle)/1e6)
}

func (b *providerBench) rss() int64 {
	all, err := b.up.Processes()
	require.NoError(b.t, err)
	for _, p := range all {
		if p.Name == product.ControlPlaneProcess {
			usage, err := p.Usage()
			require.NoError(b.t, err)
			return usage.RSS
		}
	}
	b.t.Fatal("the control plane does not run")
	return 0
}

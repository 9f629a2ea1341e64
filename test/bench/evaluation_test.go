package bench

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/internal/apikey"
	"github.com/looptrace/looptrace/test/product"
	"github.com/looptrace/looptrace/test/provider"
)

// callsAtOnce is how many calls the connection allows at once. See [providerBench.connect].
const callsAtOnce = 50

// newEvaluationBench starts the product for evaluations.
func newEvaluationBench(t *testing.T) *providerBench {
	t.Helper()
	load := loadAverage()
	up := product.Start(t)
	account, err := up.Setup(t.Context())
	require.NoError(t, err)
	key, err := account.Key(t.Context(), "bench", apikey.ScopeAdmin, apikey.ScopeDatasetsWrite, apikey.ScopeDatasetsRead, apikey.ScopeEvalsWrite, apikey.ScopeEvalsRead)
	require.NoError(t, err)
	b := &providerBench{t: t, up: up, server: provider.Start(t, provider.Options{}), key: key, project: account.ProjectID}
	b.connect()
	fmt.Printf("%d cores of %s, load before the start %s\n", runtime.NumCPU(), runtime.GOARCH, load)
	return b
}

func (b *providerBench) create(path, body string) (id string) {
	answer := b.post(b.up.Ports.URL(product.Web)+path, b.key, body)
	defer func() { require.NoError(b.t, answer.Body.Close()) }()
	var made struct{ ID string }
	require.NoError(b.t, json.NewDecoder(answer.Body).Decode(&made))
	return made.ID
}

// numbers creates a dataset, and returns its id.
func (b *providerBench) numbers(name string, items int) string {
	dataset := b.create("/v1/datasets", fmt.Sprintf(`{"project_id":%q,"name":%q}`, b.project, name))
	for first := 0; first < items; first += 1000 {
		var list []string
		for i := first; i < min(items, first+1000); i++ {
			list = append(list, fmt.Sprintf(`{"key":"q%d","input":{"question":"number %d"},"reference_output":"number %d"}`, i, i, i))
		}
		b.create("/v1/datasets/"+dataset+"/items", `{"items":[`+strings.Join(list, ",")+`]}`)
	}
	return dataset
}

// evaluate starts an evaluation, prints how long it takes until the summary and the memory that it takes, and returns its URL.
func (b *providerBench) evaluate(path, body string, calls int, each time.Duration) (url string) {
	time.Sleep(5 * time.Second)
	idle := b.rss()
	peak := idle
	var done sync.WaitGroup
	stop := watchRSS(b, &peak, &done)
	begin := time.Now()
	url = b.up.Ports.URL(product.Web) + path + "/" + b.create(path, body)
	fmt.Printf("started after          %.2f s\n", time.Since(begin).Seconds())
	for summarized := false; !summarized; time.Sleep(100 * time.Millisecond) {
		var answer struct {
			Status  string
			Summary *struct{ Sentence string }
		}
		require.NoError(b.t, json.Unmarshal(b.read(url), &answer))
		if summarized = answer.Summary != nil; summarized {
			require.Equal(b.t, "succeeded", answer.Status)
			fmt.Println(answer.Summary.Sentence)
		}
	}
	took := time.Since(begin)
	close(stop)
	done.Wait()
	fmt.Printf("%d calls of %s         took %.1f s", calls, each, took.Seconds())
	if ideal := time.Duration(calls/callsAtOnce) * each; ideal > 0 {
		fmt.Printf(", ideal %.1f s (%.2f)", ideal.Seconds(), took.Seconds()/ideal.Seconds())
	}
	fmt.Printf("\ncontrol plane RSS      idle %d MB, peak %d MB, +%d MB\n", idle/1e6, peak/1e6, (peak-idle)/1e6)
	return url
}

// reads prints how long it takes to read an evaluation.
func (b *providerBench) reads(url string, paths ...string) {
	for _, read := range paths {
		begin := time.Now()
		size := len(b.read(url + read))
		fmt.Printf("GET …%-45s %6.0f ms, %d kB\n", read, float64(time.Since(begin).Microseconds())/1000, size/1000)
	}
}

// watchRSS keeps the largest memory of the control plane until stop is closed.
func watchRSS(b *providerBench, peak *int64, done *sync.WaitGroup) (stop chan struct{}) {
	stop = make(chan struct{})
	done.Go(func() {
		tick := time.NewTicker(100 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				return
			case <-tick.C:
				*peak = max(*peak, b.rss())
			}
		}
	})
	return stop
}

func (b *providerBench) read(url string) []byte {
	b.t.Helper()
	status, text := b.get(url)
	require.Equal(b.t, http.StatusOK, status, string(text))
	return text
}

func (b *providerBench) get(url string) (status int, text []byte) {
	b.t.Helper()
	request, err := http.NewRequestWithContext(b.t.Context(), http.MethodGet, url, nil)
	require.NoError(b.t, err)
	request.Header.Set("Authorization", "Bearer "+b.key)
	answer, err := http.DefaultClient.Do(request)
	require.NoError(b.t, err)
	defer func() { require.NoError(b.t, answer.Body.Close()) }()
	text, err = io.ReadAll(answer.Body)
	require.NoError(b.t, err)
	return answer.StatusCode, text
}

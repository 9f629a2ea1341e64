package bench

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"runtime"
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

// TestComparisons compares two configurations over BENCH_COMPARISON_ITEMS items, with calls of 200 ms, 50 at once, and reads the result.
// The limit beside it is the time in which a provider can answer them.
func TestComparisons(t *testing.T) {
	items, _ := strconv.Atoi(os.Getenv("BENCH_COMPARISON_ITEMS"))
	if items == 0 {
		t.Skip("see make bench-comparisons")
	}
	const each, atOnce = 200 * time.Millisecond, 50
	load := loadAverage()
	up := product.Start(t)
	account, err := up.Setup(t.Context())
	require.NoError(t, err)
	key, err := account.Key(t.Context(), "bench", apikey.ScopeAdmin, apikey.ScopeDatasetsWrite, apikey.ScopeDatasetsRead, apikey.ScopeEvalsWrite, apikey.ScopeEvalsRead)
	require.NoError(t, err)
	b := &providerBench{t: t, up: up, server: provider.Start(t, provider.Options{}), key: key, project: account.ProjectID}
	b.connect()
	web := up.Ports.URL(product.Web)
	create := func(path, body string) (id string) {
		answer := b.post(web+path, key, body)
		defer func() { require.NoError(t, answer.Body.Close()) }()
		var made struct{ ID string }
		require.NoError(t, json.NewDecoder(answer.Body).Decode(&made))
		return made.ID
	}
	dataset := create("/v1/datasets", fmt.Sprintf(`{"project_id":%q,"name":"numbers"}`, account.ProjectID))
	for first := 0; first < items; first += 1000 {
		var list []string
		for i := first; i < min(items, first+1000); i++ {
			list = append(list, fmt.Sprintf(`{"key":"q%d","input":{"question":"number %d"},"reference_output":"number %d"}`, i, i, i))
		}
		create("/v1/datasets/"+dataset+"/items", `{"items":[`+strings.Join(list, ",")+`]}`)
	}
	side := func(model string) string {
		return fmt.Sprintf(`{"provider_id":%q,"messages":[{"role":"user","content":"{{question}}"}],"model_config":{"model":"%s@%s"}}`, b.connection, model, each)
	}
	fmt.Printf("%d cores of %s, load before the start %s; %d items, %d calls of %s, %d at once\n", runtime.NumCPU(), runtime.GOARCH, load, items, 2*items, each, atOnce)
	time.Sleep(5 * time.Second)
	idle := b.rss()
	peak := idle
	var done sync.WaitGroup
	stop := watchRSS(b, &peak, &done)
	begin := time.Now()
	id := create("/v1/comparisons", fmt.Sprintf(`{"project_id":%q,"dataset_id":%q,"a":%s,"b":%s,
		"graders":[{"name":"same","type":"string_check","operation":"eq","input":"{{sample.output_text}}","reference":"{{item.reference_output}}"}]}`,
		account.ProjectID, dataset, side("text"), side("echo")))
	fmt.Printf("started after          %.2f s: every item was rendered with both configurations\n", time.Since(begin).Seconds())
	path := web + "/v1/comparisons/" + id
	for summarized := false; !summarized; time.Sleep(100 * time.Millisecond) {
		var answer struct{ Summary *struct{ Sentence string } }
		require.NoError(t, json.Unmarshal(b.read(path), &answer))
		if summarized = answer.Summary != nil; summarized {
			fmt.Println(answer.Summary.Sentence)
		}
	}
	took, ideal := time.Since(begin), time.Duration(2*items/atOnce)*each
	close(stop)
	done.Wait()
	fmt.Printf("%d calls  ideal %.1f s; took %.1f s (%.2f)\n", 2*items, ideal.Seconds(), took.Seconds(), took.Seconds()/ideal.Seconds())
	fmt.Printf("control plane RSS      idle %d MB, peak %d MB, +%d MB\n", idle/1e6, peak/1e6, (peak-idle)/1e6)
	for _, read := range []string{"", "/report", "/report?format=markdown&token_budget=20000", "/items?limit=50&outcome=improved", "/items?limit=50&offset=" + strconv.Itoa(items-50), "/report?format=junit"} {
		begin := time.Now()
		size := len(b.read(path + read))
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
	request, err := http.NewRequestWithContext(b.t.Context(), http.MethodGet, url, nil)
	require.NoError(b.t, err)
	request.Header.Set("Authorization", "Bearer "+b.key)
	answer, err := http.DefaultClient.Do(request)
	require.NoError(b.t, err)
	defer func() { require.NoError(b.t, answer.Body.Close()) }()
	text, err := io.ReadAll(answer.Body)
	require.NoError(b.t, err)
	require.Equal(b.t, http.StatusOK, answer.StatusCode, string(text))
	return text
}

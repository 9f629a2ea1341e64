package engines

import (
	"os"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestStarts starts many engines, four at a time, on their own ports. Each must become ready. ENGINE_STARTS is the
// number of each: a port conflict shows in hundreds.
func TestStarts(t *testing.T) {
	starts := 4
	if text := os.Getenv("ENGINE_STARTS"); text != "" {
		var err error
		starts, err = strconv.Atoi(text)
		require.NoError(t, err)
	}
	const atOnce = 4
	for name, start := range map[string]func() (*Server, error){"ClickHouse": startClickHouse, "PostgreSQL": startPostgres} {
		t.Run(name, func(t *testing.T) {
			jobs := make(chan int)
			var work sync.WaitGroup
			for range atOnce {
				work.Go(func() {
					for range jobs {
						server, err := start()
						if assert.NoError(t, err) {
							server.Stop(t)
							assert.NoError(t, os.RemoveAll(server.folder))
						}
					}
				})
			}
			for n := range starts {
				jobs <- n
			}
			close(jobs)
			work.Wait()
		})
	}
}

package journal_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/cmd/looptrace/internal/journal"
)

func open(t *testing.T, verbose bool) (*journal.Journal, *bytes.Buffer, string) {
	t.Helper()
	var terminal bytes.Buffer
	dir := filepath.Join(t.TempDir(), "logs")
	j, err := journal.Open(dir, &terminal, journal.Options{Verbose: verbose, Names: []string{"controlplane", "web"}})
	require.NoError(t, err)
	t.Cleanup(j.Close)
	return j, &terminal, dir
}

func TestTerminalShowsWhatMatters(t *testing.T) {
	t.Parallel()
	for line, shown := range map[string]bool{
		`{"time":"x","level":"WARN","msg":"m"}`:             true,
		`{"time":"x","level":"INFO","msg":"an error page"}`: false,
		"2026-01-01T00:00:00Z\terror\tkafka/x.go\tm":        true,
		"2026-01-01T00:00:00Z\tinfo\tservice/x.go\tm":       false,
		"2026-01-01 00:00:00 UTC [1] FATAL:  m":             true,
		"2026-01-01 00:00:00 UTC [1] LOG:  m":               false,
		"panic: runtime error":                              true,
		"Code: 60. DB::Exception: m":                        true,
	} {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			for _, verbose := range []bool{false, true} {
				j, terminal, dir := open(t, verbose)
				_, err := j.Writer("web").Write([]byte(line + "\n"))
				require.NoError(t, err)
				want := ""
				if shown || verbose {
					want = "web          │ " + line + "\n"
				}
				assert.Equal(t, want, terminal.String())
				kept, err := os.ReadFile(filepath.Join(dir, "web.log"))
				require.NoError(t, err)
				assert.Equal(t, line+"\n", string(kept))
			}
		})
	}
}

func TestLinesAreWhole(t *testing.T) {
	t.Parallel()
	j, terminal, _ := open(t, true)
	web, plane := j.Writer("web"), j.Writer("controlplane")
	for _, step := range []struct {
		to   *journal.Writer
		text string
	}{{web, "one "}, {plane, "other\n"}, {web, "line\n\nnext"}} {
		_, err := step.to.Write([]byte(step.text))
		require.NoError(t, err)
	}
	j.Say("own")
	assert.Equal(t, "controlplane │ other\nweb          │ one line\nlooptrace    │ own\n", terminal.String())
}

func TestEndlessLineIsCut(t *testing.T) {
	t.Parallel()
	j, terminal, _ := open(t, true)
	_, err := j.Writer("web").Write([]byte(strings.Repeat("x", 200<<10)))
	require.NoError(t, err)
	assert.Equal(t, 3, strings.Count(terminal.String(), "\n"))
}

func TestFilesAreBounded(t *testing.T) {
	t.Parallel()
	j, _, dir := open(t, false)
	line := []byte(strings.Repeat("x", 32<<10) + "\n")
	w := j.Writer("web")
	for range 1000 {
		_, err := w.Write(line)
		require.NoError(t, err)
	}
	for _, name := range []string{"web.log", "web.log.1"} {
		info, err := os.Stat(filepath.Join(dir, name))
		require.NoError(t, err)
		assert.LessOrEqual(t, info.Size(), int64(10<<20+len(line)))
	}
	files, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Len(t, files, 2)
}

func TestWriterSurvivesALostFolder(t *testing.T) {
	t.Parallel()
	j, terminal, dir := open(t, true)
	require.NoError(t, os.RemoveAll(dir))
	_, err := j.Writer("web").Write([]byte("line\n"))
	require.NoError(t, err)
	assert.Contains(t, terminal.String(), "line")
}

// The rest of an error follows its first line to the terminal, up to the next record.
func TestContinuationsAreShown(t *testing.T) {
	t.Parallel()
	j, terminal, _ := open(t, false)
	_, err := j.Writer("web").Write([]byte("2026-01-01T00:00:00Z\tinfo\tx.go\tstarting\n" +
		"error: decoding failed due to the following error(s):\n\n'exporters' unknown type: \"kafak\"\n\tat line 3\n" +
		"2026-01-01T00:00:01Z\tinfo\tx.go\tbye\n  a detail of bye\n"))
	require.NoError(t, err)
	assert.Equal(t, "web          │ error: decoding failed due to the following error(s):\n"+
		"web          │ 'exporters' unknown type: \"kafak\"\n"+
		"web          │ \tat line 3\n", terminal.String())
}

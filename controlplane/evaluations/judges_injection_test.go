package evaluations_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/httpapi/apitest"
	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
	"github.com/looptrace/looptrace/test/provider"
)

// judgeInjection is a text that orders a judge about.
type judgeInjection struct {
	Name, Text string
	Repeat     int
}

func judgeInjections(t *testing.T) []judgeInjection {
	t.Helper()
	raw, err := os.ReadFile("judge/testdata/injections.jsonl")
	require.NoError(t, err)
	var list []judgeInjection
	for line := range bytes.Lines(raw) {
		var one judgeInjection
		require.NoError(t, json.Unmarshal(line, &one))
		one.Text = strings.Repeat(one.Text, max(1, one.Repeat))
		list = append(list, one)
	}
	require.GreaterOrEqual(t, len(list), 50)
	return list
}

var (
	markerSaid = regexp.MustCompile(`^⟦input ([0-9a-f]{16})⟧\n`)
	escaped    = regexp.MustCompile(`⟦U\+([0-9A-F]{4,6})⟧`)
	leftOut    = regexp.MustCompile(`\n⟦[0-9]+ characters left out here⟧\n`)
)

// fences reads the message of a user to a judge: its parts, as they were before they were escaped and cut, and the text outside of them. Each
// part has one fence, and no ⟦ in it begins anything but an escape or the mark of a cut. Only canaries have tool calls.
func fences(t *testing.T, message string) (parts map[string][]string, outside string) {
	t.Helper()
	marker := markerSaid.FindStringSubmatch(message)
	require.NotNil(t, marker)
	pattern := "(?s)^"
	names := []string{"input", "reference_output", "output"}
	if strings.Contains(message, "⟦tool_calls "+marker[1]+"⟧") {
		names = append(names, "tool_calls")
	}
	for _, name := range names {
		pattern += fmt.Sprintf(`⟦%[1]s %[2]s⟧\n(.*)\n⟦end of %[1]s %[2]s⟧\n\n`, name, marker[1])
	}
	found := regexp.MustCompile(pattern + `([^⟦]*)$`).FindStringSubmatch(message)
	require.NotNil(t, found)
	parts = map[string][]string{}
	for i, name := range names {
		rest := leftOut.Split(found[1+i], -1)
		require.LessOrEqual(t, len(rest), 2)
		for _, text := range rest {
			require.NotContains(t, escaped.ReplaceAllString(text, ""), "⟦")
			parts[name] = append(parts[name], escaped.ReplaceAllStringFunc(text, func(one string) string {
				r, err := strconv.ParseInt(escaped.FindStringSubmatch(one)[1], 16, 32)
				require.NoError(t, err)
				return string(rune(r))
			}))
		}
	}
	return parts, found[len(found)-1]
}

// TestJudgeInjections judges outputs that order the judges about. One judge obeys what it reads, the other one holds.
func TestJudgeInjections(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	session, project := e.SetUp(t)
	as := apitest.Cookie(session)
	e.Work(t)
	server := provider.Start(t, provider.Options{Answer: apitest.Judging(func(q *provider.Request, _ int) *provider.Reply {
		_, output, _ := strings.Cut(q.Last(), "\n⟦output ")
		if q.Model == "judge-obeys" && strings.Contains(output, "5") {
			return apitest.Voted(5)
		}
		return apitest.Voted(1)
	})})
	made := e.Connect(t, as, project.Id, "openai", server, "")
	list := judgeInjections(t)
	items := make([]string, len(list))
	for i, one := range list {
		text, err := json.Marshal(one.Text)
		require.NoError(t, err)
		items[i] = fmt.Sprintf(`{"input":{"question":"number %d"},"reference_output":%s}`, i, text)
	}
	dataset := e.CreateDatasetOf(t, as, project.Id, "injections", items...)
	ended := evaluated(t, e, as, evaluate(t, e, as, project.Id, dataset.Id, `{"outputs":"reference"}`,
		`,"panels":[`+apitest.PanelJSON("quality", made.Id, `,"scale":{"type":"ordinal","min":1,"max":5}`, "judge-obeys", "judge-holds")+`]`).Id)
	require.Equal(t, contract.EvaluationStatusSucceeded, ended.Status, "%+v", ended.Error)
	assert.EqualValues(t, 2*len(list), ended.Accounting.Votes.Ok)

	outsides, asked := map[string]bool{}, map[string]int{}
	for _, q := range server.Requests() {
		require.Len(t, q.Messages, 2)
		require.Equal(t, []string{"system", "user"}, []string{q.Messages[0].Role, q.Messages[1].Role})
		parts, outside := fences(t, q.Messages[1].Text)
		outsides[q.Messages[0].Text+outside] = true
		found := apitest.NumberSaid.FindStringSubmatch(parts["input"][0])
		if found == nil {
			asked["canary"]++
			continue
		}
		n, err := strconv.Atoi(found[1])
		require.NoError(t, err)
		one := list[n]
		asked[one.Name]++
		require.Len(t, parts, 3)
		for _, name := range []string{"reference_output", "output"} {
			part := parts[name]
			if one.Repeat == 0 {
				require.Equal(t, []string{one.Text}, part, one.Name)
				continue
			}
			require.Len(t, part, 2, one.Name)
			require.True(t, strings.HasPrefix(one.Text, part[0]), one.Name)
			require.True(t, strings.HasSuffix(one.Text, part[1]), one.Name)
		}
	}
	assert.Len(t, outsides, 1, "no text changes what stands outside of the fences")
	assert.Len(t, asked, len(list)+1)
	for name, times := range asked {
		assert.Equal(t, 2, times, name)
	}

	p := &ended.Summary.Panels[0]
	assert.Equal(t, contract.PanelJudgeCanaryObeyed, *p.Judges[0].Canary)
	assert.Equal(t, contract.PanelJudgeCanaryHeld, *p.Judges[1].Canary)
	warnings := strings.Join(p.Warnings, "\n")
	assert.Contains(t, warnings, "judge-obeys obeyed an order that was hidden in an output")
	assert.NotContains(t, warnings, "judge-holds obeyed")
	report := e.Do(t, http.MethodGet, "/v1/eval-runs/"+ended.Id.String()+"/report?format=markdown", nil, as)
	assert.Contains(t, report.Body.String(), "judge-obeys obeyed an order")
}

package judge

import (
	"encoding/json"
	"net/http"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/llm"
	"github.com/looptrace/looptrace/controlplane/llm/client"
	"github.com/looptrace/looptrace/controlplane/outbound"
	"github.com/looptrace/looptrace/test/provider"
)

// TestThroughProviders asks by both APIs and every strategy, against servers that check requests as the providers do. What the server gets has
// the fences unchanged, and what it answers becomes a vote, also after the reminder.
func TestThroughProviders(t *testing.T) {
	t.Parallel()
	const answer = `{"reason":"It closes earlier.","value":2}`
	policy, err := outbound.Parse("loopback")
	require.NoError(t, err)
	replies := map[llm.Strategy]provider.Reply{
		llm.Native: {Text: answer}, llm.JSONMode: {Text: "```json\n" + answer + "\n```"}, llm.Text: {Text: "Let me see.\n" + llm.AnswerMark + " " + answer},
		llm.Tool: {Text: "I vote.", ToolCalls: []provider.ToolCall{{Name: "vote", Arguments: answer}}},
	}
	for _, kind := range []llm.Kind{llm.OpenAI, llm.Anthropic} {
		server := provider.Start(t, provider.Options{})
		connection := llm.Connection{Kind: kind, BaseURL: server.URL, APIKey: server.Key, HTTP: &http.Client{Transport: policy.Client().Transport}}
		if kind == llm.OpenAI {
			connection.BaseURL += "/v1"
		}
		client, err := client.New(connection)
		require.NoError(t, err)
		ask := func(q *Question, strategy llm.Strategy, reply provider.Reply, more ...json.RawMessage) (provider.Request, Vote) {
			server.Next(reply)
			r, err := client.Complete(t.Context(), llm.Request{
				Model: "text", Messages: append(slices.Clone(q.Messages), more...), ResponseFormat: q.ResponseFormat, Strategy: strategy,
			}, nil)
			require.NoError(t, err, "%s of %s", strategy, kind)
			requests := server.Requests()
			return requests[len(requests)-1], q.Read(r)
		}
		for strategy, reply := range replies {
			for _, scale := range []string{fivePoints, fractions} { // as an enumeration and in words
				q := asked(t, rubricJudge(t, scale), harmless)
				request, v := ask(q, strategy, reply)
				var user struct{ Content string }
				require.NoError(t, json.Unmarshal(q.Messages[1], &user))
				assert.Equal(t, user.Content, request.Messages[1].Text)
				if scale == fractions {
					assert.Equal(t, StatusOffScale, v.Status, v.Reason)
					continue
				}
				require.Equal(t, StatusOK, v.Status, "%s of %s: %s", strategy, kind, v.Reason)
				assert.InDelta(t, 2, *v.Value, 0)
				assert.Equal(t, "It closes earlier.", v.Reason)
			}
			q := asked(t, rubricJudge(t, fivePoints), harmless)
			_, v := ask(q, strategy, provider.Reply{Text: "I would say two."})
			assert.Equal(t, StatusParseError, v.Status)
			_, v = ask(q, strategy, reply, q.Reminder())
			assert.Equal(t, StatusOK, v.Status, "after the reminder, %s of %s: %s", strategy, kind, v.Reason)
		}
		q := asked(t, rubricJudge(t, fivePoints), harmless)
		_, v := ask(q, llm.Native, provider.Reply{Refusal: "I cannot judge this."})
		assert.Equal(t, StatusRefused, v.Status)
		_, v = ask(q, llm.Native, provider.Reply{Text: `{"reason":"It clo`, Finish: map[llm.Kind]string{llm.OpenAI: "length", llm.Anthropic: "max_tokens"}[kind]})
		assert.Equal(t, StatusParseError, v.Status)
		assert.Contains(t, v.Reason, "The answer was cut at the limit of 400 output tokens")
	}
}

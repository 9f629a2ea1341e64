package apitest

import (
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/looptrace/looptrace/test/provider"
)

const refusal = "I cannot do that."

// RefusedTrace is a run of an agent that did not help Bob.
func RefusedTrace(t *testing.T) (uuid.UUID, ptrace.Traces) {
	t.Helper()
	run, td := AgentTrace([]AgentStep{{Answer: refusal}})
	text, err := (&ptrace.JSONMarshaler{}).MarshalTraces(td)
	require.NoError(t, err)
	td, err = (&ptrace.JSONUnmarshaler{}).UnmarshalTraces([]byte(strings.ReplaceAll(string(text), "ann@example.com", "bob@example.com")))
	require.NoError(t, err)
	return run, td
}

// AnswerHelpfully refuses Bob unless a system prompt says "Always help", and helps Ann always.
func AnswerHelpfully(q *provider.Request) *provider.Reply {
	bob, edited := false, false
	for _, m := range q.Messages {
		bob = bob || m.Role == "user" && strings.Contains(m.Text, "bob@")
		edited = edited || m.Role == "system" && strings.Contains(m.Text, "Always help")
	}
	switch {
	case bob && edited:
		return &provider.Reply{Text: "Your order A17 is cancelled."}
	case bob:
		return &provider.Reply{Text: refusal}
	}
	return AnswerOrders(q)
}

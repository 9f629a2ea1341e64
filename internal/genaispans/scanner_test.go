package genaispans

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// requireSeen checks that the result does not depend on the message list that was checked before.
func requireSeen(t *testing.T, before, list string) {
	t.Helper()
	x := new(span)
	x.isCanonical(toInputMessages, before)
	require.Equal(t, isCanonicalFrom(list, 0), x.isCanonical(toInputMessages, list), "%q after %q", list, before)
}

func TestCanonicalHistory(t *testing.T) {
	t.Parallel()
	const user, model, later = `{"role":"user","parts":[{"type":"text","content":"]"}]}`, `{"role":"assistant","parts":[]}`, `{"role":"user","content":"Hi"}`
	lists := []string{
		"", "[", "[]", "[ ]", "[{}]", "{}]", `"}]`, "[" + user + "]", "[" + user + "] ", "[" + user + " ]", "[" + user, "[" + user + "}]", "[" + user + ",]",
		"[" + user + "," + model + "]", "[" + user + ", " + model + "]", "[" + user + "," + model + "," + user + "]", "[" + user + model + "]", "[" + user + "," + later + "]",
		"[" + later + "]", "[" + later + "," + user + "]", "[" + user + `,"` + user + `}]`, "[" + user + "]," + user + "]", "[[" + user + "],[" + user + "]]",
	}
	for _, before := range lists {
		for _, list := range lists {
			requireSeen(t, before, list)
		}
	}
	x := new(span)
	require.True(t, x.isCanonical(toInputMessages, "["+user+"]"))
	history := x.history
	require.NotEmpty(t, history)
	require.True(t, x.isCanonical(toOutputMessages, "["+model+"]"))
	require.Equal(t, history, x.history, "an answer is no history")
	x.history = "[what was seen]"
	require.True(t, x.isCanonical(toInputMessages, "[what was seen,"+user+"]"), "it is not looked at again")
}

func FuzzCanonicalHistory(f *testing.F) {
	f.Add(`[{"role":"user","parts":[{"type":"text","content":"a"}]}]`, `,{"role":"assistant","parts":[]}]`)
	f.Fuzz(func(t *testing.T, before, list string) {
		requireSeen(t, before, list)
		if before != "" {
			requireSeen(t, before, before[:len(before)-1]+list)
		}
	})
}

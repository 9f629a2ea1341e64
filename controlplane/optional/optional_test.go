package optional_test

import (
	"testing"

	"github.com/looptrace/looptrace/controlplane/optional"
)

func TestOptional(t *testing.T) {
	if got := optional.NonZero(""); got != nil {
		t.Errorf("NonZero of an empty text: %v", got)
	}
	for _, text := range []string{"", "some"} {
		if got := optional.Value(optional.NonZero(text)); got != text {
			t.Errorf("Value: %q, want %q", got, text)
		}
	}
}

package importing_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/prompts"
	"github.com/looptrace/looptrace/controlplane/prompts/importing"
	"github.com/looptrace/looptrace/controlplane/prompts/prompttemplate"
)

// FuzzParse checks that the service takes every version that is made of a file. A version that it refuses would make the
// whole import fail.
func FuzzParse(f *testing.F) {
	exports, err := filepath.Glob("testdata/*[!n]")
	require.NoError(f, err)
	for _, export := range exports {
		content, err := os.ReadFile(export)
		require.NoError(f, err)
		f.Add(string(content), "")
	}
	f.Fuzz(func(t *testing.T, content, format string) {
		file, err := importing.Parse([]byte(content), "f", importing.Format(format))
		if err != nil {
			return
		}
		require.NotZero(t, len(file.Prompts)+len(file.Rejected))
		for _, p := range file.Prompts {
			for _, v := range p.Versions {
				_, _, err := prompts.RenderDraft("body", draft(t, &v), prompts.Values{})
				require.NoError(t, err, "%s", v.Messages)
			}
		}
	})
}

// draft is a version as the service takes it, in which variables need no values.
func draft(t *testing.T, v *importing.Version) prompts.NewVersion {
	t.Helper()
	content := prompts.Content{ResponseFormat: v.ResponseFormat, Missing: prompttemplate.MissingKeep}
	require.NoError(t, json.Unmarshal(v.Messages, &content.Messages))
	if v.Tools != nil {
		require.NoError(t, json.Unmarshal(v.Tools, &content.Tools))
	}
	var err error
	content.ModelConfig, err = json.Marshal(v.ModelConfig)
	require.NoError(t, err)
	if v.Variables != nil {
		content.Variables, err = json.Marshal(v.Variables)
		require.NoError(t, err)
	}
	return prompts.NewVersion{Content: content, Note: v.Note}
}

package collector

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/test/checkout"
)

// The built collector accepts each example of the components' READMEs: all are whole configurations.
func TestComponentExamples(t *testing.T) {
	t.Parallel()
	root, err := checkout.Root()
	require.NoError(t, err)
	readmes, err := filepath.Glob(filepath.Join(root, "components", "*", "README.md"))
	require.NoError(t, err)
	require.NotEmpty(t, readmes)
	block := regexp.MustCompile("(?ms)^```yaml\n(.*?)^```$")
	for _, readme := range readmes {
		t.Run(filepath.Base(filepath.Dir(readme)), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(readme)
			require.NoError(t, err)
			examples := block.FindAllSubmatch(text, -1)
			require.NotEmpty(t, examples)
			folder := t.TempDir()
			for i, example := range examples {
				config := filepath.Join(folder, strconv.Itoa(i)+".yaml")
				require.NoError(t, os.WriteFile(config, example[1], 0o600))
				command := exec.CommandContext(t.Context(), filepath.Join(root, "_build", "looptrace-collector"), "validate", "--config", config)
				command.Env = append(os.Environ(),
					"DATABASE_URL=postgres://localhost/looptrace", "KAFKA_BROKERS=localhost:9092", "PROJECT_ID=0199a8c8-9f6e-7c63-8e0f-3a54ab6d7f10", "LOOPTRACE_KEY=lt_example")
				out, err := command.CombinedOutput()
				assert.NoError(t, err, "%s\n%s", example[1], out)
			}
		})
	}
}

// Package importing sends files to an installation, which imports them: prompts of other products, and datasets.
package importing

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/looptrace/looptrace/cmd/looptrace/internal/rest"
)

// New returns the command.
func New() *cobra.Command {
	c := &cobra.Command{
		Use:   "import",
		Short: "Import prompts that other products export, and files as datasets",
	}
	c.AddCommand(newPrompts(), newDatasets())
	return c
}

func newPrompts() *cobra.Command {
	var r request
	c := &cobra.Command{
		Use:   "prompts FILE",
		Short: "Import prompts of OpenAI, Langfuse, LangSmith or promptfoo (LOOPTRACE_API_KEY: scope prompts:write)",
		Long: "Import prompts of OpenAI, Langfuse, LangSmith or promptfoo.\n\n" +
			"FILE is what the other product exports, as JSON or YAML; - is the standard input. All prompts that can be\n" +
			"converted are imported at once. The command prints what became of each prompt and ends with status 1 if one was\n" +
			"rejected.\n\n" +
			"The key comes from LOOPTRACE_API_KEY and needs the scope prompts:write. The address comes from\n" +
			"LOOPTRACE_ENDPOINT (default: http://127.0.0.1:7090).",
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			client, err := rest.New("the scope prompts:write")
			if err != nil {
				return err
			}
			if r.Content, err = read(args[0], c.InOrStdin()); err != nil {
				return err
			}
			if args[0] != "-" {
				r.FileName = filepath.Base(args[0])
			}
			ctx, stop := signal.NotifyContext(c.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			if r.ProjectID == "" {
				if r.ProjectID, err = client.Project(ctx); err != nil {
					return err
				}
			}
			report, err := importPrompts(ctx, client, r)
			if err != nil {
				return err
			}
			if err := report.print(c.OutOrStdout()); err != nil {
				return err
			}
			if n := len(report.Rejected); n > 0 {
				return fmt.Errorf("rejected: %d", n)
			}
			return nil
		},
	}
	c.Flags().StringVar(&r.ProjectID, "project", "", "id of the project (default: that of the key)")
	c.Flags().StringVar(&r.Format, "format", "", "openai, langfuse, langsmith or promptfoo (default: recognized by the content)")
	c.Flags().BoolVar(&r.DryRun, "dry-run", false, "only print what would be imported")
	return c
}

// read reads a file, or the standard input. JSON holds only UTF-8.
func read(file string, stdin io.Reader) (string, error) {
	var (
		content []byte
		err     error
	)
	if file == "-" {
		content, err = io.ReadAll(stdin)
	} else {
		content, err = os.ReadFile(file)
	}
	if err != nil {
		return "", fmt.Errorf("read the prompts: %w", err)
	}
	if len(content) == 0 {
		return "", fmt.Errorf("%s is empty", file)
	}
	if !utf8.Valid(content) {
		return "", fmt.Errorf("%s is not UTF-8: save it as UTF-8", file)
	}
	return string(content), nil
}

// request is PromptImport of the API.
type request struct {
	ProjectID string `json:"project_id"`
	Content   string `json:"content"`
	FileName  string `json:"file_name,omitempty"`
	Format    string `json:"format,omitempty"`
	DryRun    bool   `json:"dry_run"`
}

func importPrompts(ctx context.Context, c *rest.Client, r request) (report, error) {
	body, err := json.Marshal(r)
	if err != nil {
		return report{}, fmt.Errorf("write the request: %w", err)
	}
	var answer report
	err = c.Do(ctx, http.MethodPost, body, &answer, "v1", "prompts", "_actions", "import")
	return answer, err
}

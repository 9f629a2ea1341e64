package judge

import (
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"

	"github.com/google/uuid"
	"go.yaml.in/yaml/v3"
)

// Ready is a judge that is ready to use once it has a model: a rubric with its scale, to copy and to change.
type Ready struct {
	// ID is stable. Version counts the changes of the rubric and the scale, from 1.
	ID          string `json:"id"`
	Version     int    `json:"version"`
	Title       string `json:"title"`
	Description string `json:"description"`
	// Needs are the parts without which it cannot judge: input, reference_output, tool_calls. A trajectory counts as tool calls.
	Needs  []string `json:"needs"`
	Scale  *Scale   `json:"scale"`
	Pass   *Pass    `json:"pass,omitempty"`
	Rubric string   `json:"rubric"`
}

//go:embed ready/*.md
var readyFiles embed.FS

// ReadyJudges returns all that are ready, sorted by id. They are shared: callers do not change them.
func ReadyJudges() ([]*Ready, error) { return readReady() }

var readReady = sync.OnceValues(func() ([]*Ready, error) {
	names, err := fs.Glob(readyFiles, "ready/*.md")
	if err != nil {
		return nil, fmt.Errorf("list the judges that are ready: %w", err)
	}
	list := make([]*Ready, len(names))
	for i, name := range names {
		text, err := readyFiles.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", name, err)
		}
		if list[i], err = parseReady(text); err != nil {
			return nil, fmt.Errorf("read %s: %w", name, err)
		}
	}
	return list, nil
})

// parseReady reads Markdown with front matter.
func parseReady(text []byte) (*Ready, error) {
	front, rubric, found := strings.Cut(strings.TrimPrefix(string(text), "---\n"), "\n---\n")
	if !found {
		return nil, errors.New("it has no front matter")
	}
	var head struct {
		ID, Title, Description string
		Version                int
		Needs                  []string
		Scale, Pass            any
	}
	decoder := yaml.NewDecoder(strings.NewReader(front))
	decoder.KnownFields(true)
	if err := decoder.Decode(&head); err != nil {
		return nil, fmt.Errorf("read the front matter: %w", err)
	}
	r := &Ready{
		ID: head.ID, Version: head.Version, Title: head.Title, Description: head.Description, Needs: head.Needs, Rubric: strings.TrimSpace(rubric),
	}
	raw, err := json.Marshal(map[string]any{"scale": head.Scale, "pass": head.Pass})
	if err != nil {
		return nil, fmt.Errorf("read the scale: %w", err)
	}
	m, err := newMembers(raw, "judge", "scale and pass")
	if err != nil {
		return nil, err
	}
	if r.Scale = readScale(m, m.raw("scale")); r.Scale != nil {
		r.Pass = readPass(m, m.raw("pass"), r.Scale)
	}
	return r, m.done()
}

// Definition returns a definition with this rubric, named by its id.
func (r *Ready) Definition(provider uuid.UUID, modelConfig json.RawMessage) *Definition {
	return &Definition{
		Name: r.ID, Type: TypeScore, ProviderID: provider, ModelConfig: modelConfig, Rubric: r.Rubric, Scale: r.Scale, Pass: r.Pass, Repeats: 1,
	}
}

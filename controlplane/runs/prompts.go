package runs

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/looptrace/looptrace/controlplane/access"
)

// PromptTexts knows the texts of prompts.
type PromptTexts interface {
	// TextIDs returns the ids of texts (runmodel.SystemTextID) that only one version in its project has, by version, of the prompts with
	// the id, the name and the version. An empty argument does not count.
	TextIDs(ctx context.Context, in access.Projects, id, name, version string) (map[string][]uint64, error)
}

// resolve returns the filter with its window at the current time, with the texts of its prompts, and with the scores that fail runs.
func (s *Service) resolve(ctx context.Context, in access.Projects, f Filter) (Filter, error) {
	return s.settleAt(ctx, in, f, s.now())
}

func (s *Service) settleAt(ctx context.Context, in access.Projects, f Filter, now time.Time) (Filter, error) {
	f = f.at(now)
	var err error
	if f.failures, err = s.failuresOf(ctx, f.ProjectID); err != nil {
		return Filter{}, err
	}
	if s.promptTexts == nil {
		return f, nil
	}
	f.Prompts = slices.Clone(f.Prompts)
	for i := range f.Prompts {
		p := &f.Prompts[i]
		if p.TextIDs != nil || p.ID == "" && p.Name == "" {
			continue
		}
		texts, err := s.promptTexts.TextIDs(ctx, in, p.ID, p.Name, p.Version)
		if err != nil {
			return Filter{}, fmt.Errorf("find the texts of the prompt: %w", err)
		}
		p.TextIDs = slices.Concat(slices.Collect(maps.Values(texts))...)
		slices.Sort(p.TextIDs) // the cache compares statements
		if p.TextIDs == nil {
			p.TextIDs = []uint64{}
		}
	}
	return f, nil
}

// PromptMatch selects runs by a prompt. An empty field does not count, but not all may be empty.
type PromptMatch struct {
	// ID and Name are those of one prompt. A span that names only its name is of the prompt, one with another id is not.
	ID, Name string
	// Version, if it is given without the others, is that of any prompt.
	Version string
	// TextIDs are ids of the texts of the prompt, or of its version (runmodel.SystemTextID). A run also matches if one of its model calls
	// names no prompt and has such a text. They are not part of the filter's Digest, for they follow from the rest and grow in number.
	TextIDs []uint64 `json:"-"`
}

// OfPrompt returns the Filter.Prompts of the runs that name a prompt, a version or both; nil if all are empty.
func OfPrompt(id, name, version string) []PromptMatch {
	if id == "" && name == "" && version == "" {
		return nil
	}
	return []PromptMatch{{ID: id, Name: name, Version: version}}
}

// addPrompts adds the condition of Filter.Prompts.
func addPrompts(w *where, prompts []PromptMatch) {
	if len(prompts) == 0 {
		return
	}
	var either where
	for i := range prompts {
		prompts[i].add(&either)
	}
	if len(either.conditions) == 0 {
		either.add("false")
	}
	w.add("("+strings.Join(either.conditions, " OR ")+")", either.args...)
}

// add adds conditions of which a run satisfies at least one.
func (p *PromptMatch) add(w *where) {
	switch {
	case p.ID == "" && p.Name == "":
		if p.Version != "" {
			w.add("has(prompt_versions, ?)", p.Version)
		}
	case p.Name == "" && p.Version == "":
		w.add("has(prompt_ids, ?)", p.ID)
	case p.ID == "" && p.Version == "":
		w.add("has(prompt_names, ?)", p.Name)
	default:
		is, args := p.named("i", "n")
		if p.Version != "" {
			is, args = is+" AND v = ?", append(args, p.Version)
		}
		w.add("arrayExists((i, n, v) -> "+is+", prompt_ids, prompt_names, prompt_versions)", args...)
	}
	if len(p.TextIDs) > 0 {
		w.add("arrayExists(t -> t IN (?), system_text_ids)", p.TextIDs)
	}
}

// named is the condition on the id and the name of a prompt that a span names. It needs an ID or a Name.
func (p *PromptMatch) named(id, name string) (condition string, args []any) {
	switch {
	case p.Name == "":
		return id + " = ?", []any{p.ID}
	case p.ID == "":
		return name + " = ?", []any{p.Name}
	}
	return fmt.Sprintf("(%[1]s = ? OR %[1]s = '' AND %[2]s = ?)", id, name), []any{p.ID, p.Name}
}

// promptLabels are the prompts of a run with their versions, such as triage@3. One without a name has its id in its place.
const promptLabels = `arrayDistinct(arrayMap((i, n, v) -> concat(if(n = '', i, n), if(v = '', '', concat('@', v))),
	prompt_ids, CAST(prompt_names AS Array(String)), CAST(prompt_versions AS Array(String))))`

package runmodel

import "slices"

// Limits of what a run keeps of its prompts. A text that is longer is none that a person gave a prompt as its name.
const (
	maxPrompts       = 50
	maxPromptBytes   = 8 << 10 // of all prompts of a run
	maxSystemTextIDs = 20
)

// addPrompt adds the prompt that a span names to those of the run, or else the system texts of a model call.
func (r *Run) addPrompt(s *Span) {
	if s.PromptID != "" || s.PromptName != "" || s.PromptVersion != "" {
		r.namePrompt(s.PromptID, s.PromptName, s.PromptVersion)
	}
	if s.PromptID != "" || s.PromptName != "" || s.InstructionsTextID == 0 && s.SystemMessageTextID == 0 || s.EffectiveKind() != KindLLM {
		return
	}
	for _, id := range [...]uint64{s.InstructionsTextID, s.SystemMessageTextID} {
		if id != 0 && len(r.SystemTextIDs) < maxSystemTextIDs && !slices.Contains(r.SystemTextIDs, id) {
			r.SystemTextIDs = append(r.SystemTextIDs, id)
		}
	}
}

func (r *Run) namePrompt(id, name, version string) {
	bytes := len(id) + len(name) + len(version)
	for i := range r.PromptIDs {
		if r.PromptIDs[i] == id && r.PromptNames[i] == name && r.PromptVersions[i] == version {
			return
		}
		bytes += len(r.PromptIDs[i]) + len(r.PromptNames[i]) + len(r.PromptVersions[i])
	}
	if len(r.PromptIDs) == maxPrompts || bytes > maxPromptBytes {
		return
	}
	r.PromptIDs, r.PromptNames, r.PromptVersions = append(r.PromptIDs, id), append(r.PromptNames, name), append(r.PromptVersions, version)
}

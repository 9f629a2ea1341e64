package runpdata

import (
	"maps"
	"strings"
	"sync"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/looptrace/looptrace/internal/runmodel"
)

// AgentTexts remembers the parts of agents by the texts that they were read from, since many spans and batches repeat them. It is safe for
// concurrent use.
type AgentTexts struct {
	mu           sync.Mutex
	tools        map[string]map[string]string
	instructions map[string]string
	bytes        int
}

// maxAgentTexts limits the bytes of the texts that are remembered. If there are more, all are forgotten.
const maxAgentTexts = 8 << 20

// lastParts are the parts of the last span that has some, and what they were made of.
type lastParts struct {
	definitions, instructions string
	hasMessages               bool
	parameters, parts         map[string]string
}

// setAgentParts sets what a span says of what makes its agent. Its other fields must be set.
func (r *Rows) setAgentParts(s *runmodel.Span, attributes pcommon.Map) {
	definitions, instructions := "", ""
	if value, ok := attributes.Get(runmodel.KeyToolDefinitions); ok && s.ToolDefinitionsID != 0 {
		definitions = jsonText(value)
	}
	if s.InstructionsTextID != 0 {
		instructions = r.contentsOf(s).systemTexts[s.InstructionsID].text
	} else if s.SystemMessageTextID != 0 {
		instructions = r.contentsOf(s).systemTexts[s.InputMessageIDs[0]].text
	}
	var parameters map[string]string
	if s.EffectiveKind() == runmodel.KindLLM {
		parameters = s.ParameterParts()
	}
	// The version of a call that is made of log records says no kind.
	kind := s.EffectiveKind()
	hasMessages := (kind == runmodel.KindLLM || kind == runmodel.KindSpan) && len(s.InputMessageIDs) > 0
	if definitions == "" && instructions == "" && parameters == nil && !hasMessages {
		return
	}
	instructions = s.WithoutOwnValues(instructions)
	last := &r.lastParts
	if last.parts == nil || last.definitions != definitions || last.instructions != instructions || last.hasMessages != hasMessages || !maps.Equal(last.parameters, parameters) {
		if r.AgentTexts == nil {
			r.AgentTexts = new(AgentTexts)
		}
		parts := r.AgentTexts.parts(definitions, instructions)
		maps.Copy(parts, parameters)
		if hasMessages && instructions == "" {
			parts[runmodel.PartInstructions] = runmodel.WithoutInstructions
		}
		*last = lastParts{definitions, instructions, hasMessages, parameters, parts}
	}
	s.AgentParts = last.parts // nobody changes it
}

// parts returns the parts that texts are, in a new map.
func (a *AgentTexts) parts(definitions, instructions string) map[string]string {
	a.mu.Lock()
	defer a.mu.Unlock()
	tools, ok := a.tools[definitions]
	if !ok && definitions != "" {
		tools = runmodel.ToolParts(definitions)
		a.makeRoom(definitions)
		a.tools[strings.Clone(definitions)] = tools // the text is a part of its request
	}
	parts := make(map[string]string, len(tools)+1)
	maps.Copy(parts, tools)
	if instructions == "" {
		return parts
	}
	hash, ok := a.instructions[instructions]
	if !ok {
		hash = runmodel.PartHash(runmodel.PartInstructions, runmodel.ConstantText(instructions))
		a.makeRoom(instructions)
		a.instructions[strings.Clone(instructions)] = hash
	}
	parts[runmodel.PartInstructions] = hash
	return parts
}

func (a *AgentTexts) makeRoom(text string) {
	if a.tools == nil || a.bytes+len(text) > maxAgentTexts {
		a.tools, a.instructions, a.bytes = map[string]map[string]string{}, map[string]string{}, 0
	}
	a.bytes += len(text)
}

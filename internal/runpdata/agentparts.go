package runpdata

import (
	"maps"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/looptrace/looptrace/internal/runmodel"
)

// agentParts remembers the parts of agents by the texts that they were read from. Many spans of a batch repeat both.
type agentParts struct {
	tools        map[string]map[string]string
	instructions map[string]string
	// last are the parts of the last span that has some, and what they were made of.
	last struct {
		definitions, instructions string
		parameters, parts         map[string]string
	}
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
	if definitions == "" && instructions == "" && parameters == nil {
		return
	}
	instructions = s.WithoutOwnValues(instructions)
	last := &r.agentParts.last
	if last.parts == nil || last.definitions != definitions || last.instructions != instructions || !maps.Equal(last.parameters, parameters) {
		parts := make(map[string]string, len(parameters)+1)
		maps.Copy(parts, parameters)
		maps.Copy(parts, r.toolParts(definitions))
		if instructions != "" {
			parts[runmodel.PartInstructions] = r.instructionsPart(instructions)
		}
		last.definitions, last.instructions, last.parameters, last.parts = definitions, instructions, parameters, parts
	}
	s.AgentParts = last.parts // nobody changes it
}

func (r *Rows) toolParts(definitions string) map[string]string {
	parts, ok := r.agentParts.tools[definitions]
	if !ok {
		if r.agentParts.tools == nil {
			r.agentParts.tools = make(map[string]map[string]string, 1)
		}
		parts = runmodel.ToolParts(definitions)
		r.agentParts.tools[definitions] = parts
	}
	return parts
}

func (r *Rows) instructionsPart(text string) string {
	hash, ok := r.agentParts.instructions[text]
	if !ok {
		if r.agentParts.instructions == nil {
			r.agentParts.instructions = make(map[string]string, 1)
		}
		hash = runmodel.PartHash(runmodel.PartInstructions, runmodel.ConstantText(text))
		r.agentParts.instructions[text] = hash
	}
	return hash
}

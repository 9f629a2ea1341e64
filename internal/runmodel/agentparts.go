package runmodel

import (
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Keys of the parts of an agent, in Span.AgentParts and Run.AgentParts. Those that end with a colon are followed by a name.
const (
	PartModel        = "model"
	PartInstructions = "instructions"
	// PartTools stands for all definitions of an agent with more than maxToolParts of them, or whose definitions have no names.
	PartTools     = "tools"
	PartTool      = "tool:"
	PartParameter = "parameter:"
	PartPrompt    = "prompt:"
)

// WithoutInstructions is the part PartInstructions of a call whose messages are recorded and have none. Calls that were stored before there were
// parts have no such part.
const WithoutInstructions = "none"

// overlayParts merges the parts that versions of a span say. The messages of one may lack the instructions that another has.
func overlayParts(old *map[string]string, newer map[string]string) {
	instructions := (*old)[PartInstructions]
	overlayMap(old, newer)
	if newer[PartInstructions] == WithoutInstructions && instructions != "" {
		overlayMap(old, map[string]string{PartInstructions: instructions})
	}
}

// Limits of the parts of an agent. A longer value is replaced by its hash.
const (
	maxToolParts = 100
	maxPartName  = 200
	maxPartValue = 100
)

// requestPrefix begins the attributes that are parameters of a request.
const requestPrefix = "gen_ai.request."

// parameterNames are the names of parameters in chat completions, by those of the conventions. Others have the same name. Those without one
// are no parameters.
var parameterNames = map[string]string{
	"stop_sequences": "stop", "choice.count": "n", "reasoning.level": "reasoning_effort", "model": "", "stream": "",
	"encoding_formats": "", "encoding_format": "", "type": "", "is_stream": "", "stream_cursor": "",
	// The whole history is sent instead of the id of an answer, which the provider forgets.
	"previous_response.id": "", "previous_response_id": "",
}

// RequestParameter returns the name in chat completions of the parameter that an attribute of a model call carries, "" if it carries none.
func RequestParameter(key string) string {
	name, ok := strings.CutPrefix(key, requestPrefix)
	if !ok {
		return ""
	}
	if known, ok := parameterNames[name]; ok {
		return known
	}
	return name
}

// agentParameters are the parameters that make an agent. Others, such as a seed, a user or the key of a cache, are of one run.
var agentParameters = map[string]bool{
	"temperature": true, "top_p": true, "top_k": true, "min_p": true, "max_tokens": true, "max_completion_tokens": true, "max_output_tokens": true,
	"frequency_penalty": true, "presence_penalty": true, "repetition_penalty": true, "stop": true, "n": true, "reasoning_effort": true, "reasoning": true,
	"thinking": true, "thinking_budget": true, "verbosity": true, "tool_choice": true, "parallel_tool_calls": true, "service_tier": true,
}

// ParameterParts returns the parameters of a model call that make its agent, each with its JSON; nil if there are none.
func (s *Span) ParameterParts() (parts map[string]string) {
	add := func(key, value string) {
		name := RequestParameter(key)
		if !agentParameters[name] {
			return
		}
		if value = plainNumber(strings.TrimSpace(value)); value != "" && value != "null" {
			parts = withPart(parts, PartParameter+name, value)
		}
	}
	for key, value := range s.Attributes {
		add(key, value)
	}
	for key, value := range s.AttributesJSON {
		add(key, value)
	}
	return parts
}

// plainNumber writes a number in one way, whether it was sent as 0.70 or as "0.7". Another value stays.
func plainNumber(value string) string {
	if number, err := strconv.ParseFloat(value, 64); err == nil {
		return strconv.FormatFloat(number, 'f', -1, 64)
	}
	return value
}

// withPart sets a part, in a new map if there is none.
func withPart(parts map[string]string, key, value string) map[string]string {
	if len(value) > maxPartValue {
		value = PartHash("value", value)
	}
	if parts == nil {
		parts = make(map[string]string)
	}
	parts[key] = value
	return parts
}

// PartHash is the short hash of a text that is a part of an agent.
func PartHash(kind, text string) string {
	const length = 6
	id, _ := IdentifyContent("agent "+kind, text)
	return hex.EncodeToString(binary.BigEndian.AppendUint64(nil, id)[:length])
}

// ToolParts returns the parts that tool definitions are: a hash for each name. Neither their order nor how their JSON is written counts.
func ToolParts(definitions string) map[string]string {
	var list []json.RawMessage
	if json.Unmarshal(bytesOf(definitions), &list) != nil {
		return nil
	}
	parts := make(map[string]string, len(list))
	all := make([]string, 0, len(list))
	named := true
	for _, raw := range list {
		var definition any
		if json.Unmarshal(raw, &definition) != nil {
			return nil
		}
		canonical, err := json.Marshal(definition) // with sorted members
		if err != nil {
			return nil
		}
		all = append(all, string(canonical))
		name := toolName(definition)
		named = named && name != ""
		hash := PartHash("tool", string(canonical))
		if other, ok := parts[PartTool+name]; ok && other != hash { // two tools of a name
			hash = PartHash("tool", min(hash, other)+max(hash, other))
		}
		parts[PartTool+name] = hash
	}
	if named && len(parts) <= maxToolParts {
		return parts
	}
	slices.Sort(all)
	return map[string]string{PartTools: PartHash("tools", strings.Join(all, "\n"))}
}

// toolName returns the name of a definition, as the conventions have it or within its function, "" for none.
func toolName(definition any) string {
	members, _ := definition.(map[string]any)
	name, _ := members["name"].(string)
	if function, ok := members["function"].(map[string]any); ok && name == "" {
		name, _ = function["name"].(string)
	}
	if len(name) > maxPartName {
		return ""
	}
	return name
}

// minOwnValue is the least length of a value that is looked for in instructions, minOwnInput that of an input. Shorter ones occur in any text.
const (
	minOwnValue = 3
	minOwnInput = 16
)

// WithoutOwnValues returns instructions in which what the span knows to be of its run alone is replaced: its user, session and conversation,
// names and ids in its metadata, and its input. Values count as whole words.
func (s *Span) WithoutOwnValues(instructions string) string {
	if instructions == "" {
		return ""
	}
	var own []string
	for _, value := range [...]string{s.UserID, s.SessionID, s.ConversationID} {
		if len(value) >= minOwnValue {
			own = append(own, value)
		}
	}
	for key, value := range s.Metadata {
		if len(value) >= minOwnValue && namesPerson(key) {
			own = append(own, value)
		}
	}
	if len(s.InputPreview) >= minOwnInput && len(s.InputPreview) < PreviewLength-utf8.UTFMax {
		own = append(own, s.InputPreview)
	}
	// The longest first: one may be part of another.
	slices.SortFunc(own, func(a, b string) int {
		if len(a) != len(b) {
			return len(b) - len(a)
		}
		return strings.Compare(a, b)
	})
	for _, value := range own {
		instructions = replaceWords(instructions, value, "<own>")
	}
	return instructions
}

// namesPerson reports whether the value of a metadata key is likely to be of one person or case, such as user_name or customer.id.
func namesPerson(key string) bool {
	key = strings.ToLower(key)
	for _, word := range [...]string{"prompt", "model", "agent", "version", "experiment", "variant", "tool", "policy", "looptrace"} {
		if strings.Contains(key, word) {
			return false
		}
	}
	for _, end := range [...]string{"id", "name", "email", "mail", "phone", "address", "user", "customer", "account", "order", "ticket", "case"} {
		if strings.HasSuffix(key, end) {
			return true
		}
	}
	return false
}

// replaceWords replaces value where it is not part of a longer word.
func replaceWords(text, value, by string) string {
	var b strings.Builder
	copied, at := 0, 0
	for {
		found := strings.Index(text[at:], value)
		if found < 0 {
			break
		}
		from := at + found
		to := from + len(value)
		if from > 0 && isWord(text[from-1]) && isWord(value[0]) || to < len(text) && isWord(text[to]) && isWord(value[len(value)-1]) {
			at = from + 1
			continue
		}
		b.WriteString(text[copied:from])
		b.WriteString(by)
		copied, at = to, to
	}
	if copied == 0 {
		return text
	}
	b.WriteString(text[copied:])
	return b.String()
}

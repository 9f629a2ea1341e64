package runmodel

import (
	"cmp"
	"encoding/json"
	"regexp"
	"strings"
)

// Whether a call of a tool changes the world. Empty is unknown.
const (
	EffectsRead  = "read"
	EffectsWrite = "write"
)

// RecordedEffects returns what the span of a call of a tool says of its effects: [KeySideEffects], else MCP's annotations.
func (s *Span) RecordedEffects() string {
	if effects := s.Attributes[KeySideEffects]; effects == EffectsRead || effects == EffectsWrite {
		return effects
	}
	return EffectsOf(json.RawMessage(cmp.Or(s.Attributes[KeyMCPAnnotations], s.AttributesJSON[KeyMCPAnnotations])))
}

// EffectsOf reads the annotations of a tool of MCP. They are hints, and their defaults are the worst case.
func EffectsOf(annotations json.RawMessage) string {
	var hints struct {
		ReadOnly *bool `json:"readOnlyHint"`
		Snake    *bool `json:"read_only_hint"`
	}
	if len(annotations) == 0 || json.Unmarshal(annotations, &hints) != nil {
		return ""
	}
	readOnly := hints.ReadOnly
	if readOnly == nil {
		readOnly = hints.Snake
	}
	switch {
	case readOnly == nil:
		return ""
	case *readOnly:
		return EffectsRead
	}
	return EffectsWrite
}

// verbs are words in the names of tools that tell of their effects.
var verbs = func() map[string]string {
	verbs := map[string]string{}
	for effects, words := range map[string]string{
		EffectsRead: "get list search find read fetch look lookup query check calculate count show describe view think browse retrieve load",
		EffectsWrite: "create update delete remove book cancel send write set add insert put post pay transfer refund exchange return modify submit save edit " +
			"change move rename upload publish place order approve reject close open assign schedule",
	} {
		for word := range strings.FieldsSeq(words) {
			verbs[word] = effects
		}
	}
	return verbs
}()

// nameWords splits the name of a tool: get_weather, getWeather, mcp.shop-get.
var nameWords = regexp.MustCompile(`[A-Z]?[a-z]+|[A-Z]+`)

// effects returns the effects of a step that is a call of a tool: as recorded, else by the first verb in its name.
func (s *Span) effects() string {
	if s.EffectiveKind() != KindTool || s.SideEffects != "" {
		return s.SideEffects
	}
	for _, word := range nameWords.FindAllString(cmp.Or(s.ToolName, s.Name), -1) {
		if effects := verbs[strings.ToLower(word)]; effects != "" {
			return effects
		}
	}
	return ""
}

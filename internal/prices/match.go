package prices

import (
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// Matcher finds the price of a model by the names in a span. It is safe for concurrent use.
type Matcher struct {
	table     *Table
	overrides *index // nil: none

	mu    sync.RWMutex
	found map[spanModel]history
}

// spanModel is how a span names a model.
type spanModel struct{ provider, model string }

// maxRemembered limits the cached names. A client may send a new name with every span. When the cache is full it is
// emptied, and names in use are found again.
const maxRemembered = 4096

func newMatcher(table *Table, overrides *index) *Matcher {
	return &Matcher{table: table, overrides: overrides, found: map[spanModel]history{}}
}

// Matcher returns a matcher of the table alone.
func (t *Table) Matcher() *Matcher { return t.matcher }

// WithOverrides returns a matcher in which a project's overrides win over the table.
func (t *Table) WithOverrides(overrides []Override) *Matcher {
	if len(overrides) == 0 {
		return t.matcher
	}
	list := make([]*Price, len(overrides))
	for i := range overrides {
		list[i] = overrides[i].price(t)
	}
	return newMatcher(t, newIndex(list))
}

// Find returns the price of a model at a time, or nil if none is known. A cached name costs no allocation.
//
// It tries the name as it is, and then shorter forms without a prefix (a path, a provider before a colon, an ARN, a
// Bedrock region) and without an edition (a date, a version, `-latest`). The full name wins over shorter ones, and a
// name over a pattern; of patterns, the one with most text wins. A provider in the table has its own prices and those
// of the providers that it sells `also`. If the span names no provider, a gateway, or one whose protocol others use,
// the model's name alone decides.
func (m *Matcher) Find(provider, model string, at time.Time) *Price {
	if model == "" || len(model) > MaxPattern || len(provider) > MaxPattern {
		return nil
	}
	m.mu.RLock()
	known, ok := m.found[spanModel{provider, model}]
	m.mu.RUnlock()
	if !ok {
		known = m.look(provider, model)
		m.mu.Lock()
		if len(m.found) >= maxRemembered {
			clear(m.found)
		}
		m.found[spanModel{strings.Clone(provider), strings.Clone(model)}] = known
		m.mu.Unlock()
	}
	return known.at(at)
}

func (m *Matcher) look(provider, model string) history {
	candidates := m.table.candidates(normal(provider), normal(model))
	if m.overrides != nil {
		for i := range candidates {
			// An override may use any name of a provider, or none.
			candidates[i].overridden = append(slices.Clone(candidates[i].providers), normal(provider), "")
		}
		if found := m.overrides.find(candidates, func(c *candidate) []string { return c.overridden }); found != nil {
			return found
		}
	}
	return m.table.index.find(candidates, func(c *candidate) []string { return c.providers })
}

// candidate is a name that may be in the table, and the providers that may list it, most likely first.
type candidate struct {
	name       string
	providers  []string
	overridden []string
}

// maxPathParts limits the path before a model's name.
const maxPathParts = 16

// candidates returns the names to try for a model, most exact first.
func (t *Table) candidates(provider, model string) []candidate {
	id, known := t.names[provider]
	open := t.gateways[provider]
	if known {
		open = t.providers[id].Protocol
	}
	var hint string
	var list []candidate
	for range maxPathParts {
		providers := t.sellers(id, hint, open, model)
		for _, name := range editions(model) {
			list = append(list, candidate{name: name, providers: providers})
		}
		lead, rest, ok := t.cutLead(model)
		if !ok {
			break
		}
		if named, ok := t.names[lead]; ok {
			hint = named
		}
		model = rest
	}
	return list
}

// sellers returns the providers whose prices may apply to a model. id is the provider that the span names, if the
// table has it. hint is the provider that the model's name begins with. open is true if the span's provider is not
// conclusive.
func (t *Table) sellers(id, hint string, open bool, model string) []string {
	var ids []string
	add := func(id string) {
		if p := t.providers[id]; p != nil {
			ids = append(append(ids, id), p.Also...)
		}
	}
	if open {
		if vendorOfBedrock.MatchString(model) {
			add("bedrock")
		}
		add(hint)
	}
	add(id)
	if open {
		ids = append(ids, t.byName...)
	}
	return ids
}

var (
	vendorOfBedrock = regexp.MustCompile(
		`^((us|us-gov|eu|apac|ap|jp|au|ca|sa|me|af|global)\.)?(ai21|amazon|anthropic|cohere|deepseek|google|meta|mistral|nvidia|openai|qwen|writer)\.[a-z]`)
	regionOfBedrock = regexp.MustCompile(`^(us|us-gov|eu|apac|ap|jp|au|ca|sa|me|af|global)\.`)
)

// cutLead removes the first part of a model's prefix, such as `models/`, `azure/`, `openai:`, an ARN up to its
// resource, or a Bedrock region.
func (t *Table) cutLead(model string) (lead, rest string, ok bool) {
	if lead, rest, ok = strings.Cut(model, "/"); ok && rest != "" {
		return lead, rest, true
	}
	if lead, rest, ok = strings.Cut(model, ":"); ok && rest != "" {
		if _, named := t.names[lead]; named {
			return lead, rest, true
		}
	}
	if region := regionOfBedrock.FindString(model); region != "" {
		return region, model[len(region):], true
	}
	return "", "", false
}

// edition matches the edition at the end of a model's name: a date, a version, the length of its context, or how
// OpenRouter chooses among those who sell the model (openrouter.ai/docs/guides/routing/model-variants).
var edition = regexp.MustCompile(
	`(-\d{8}|-\d{4}-\d{2}-\d{2}|-latest|-00\d|-v\d+(:\d+)?(:\d+k)?|:\d+k?|@[0-9a-z-]+|\[\d+[km]\]|:(nitro|floor|exacto|thinking|beta))$`)

// maxEditions limits the names that editions returns.
const maxEditions = 8

// editions returns a model's name followed by shorter ones without its edition, longest first. In a fine-tuned model,
// `ft:BASE:ORGANIZATION:NAME:ID`, the base belongs to the name and the rest to the edition.
func editions(model string) []string {
	list := []string{model}
	if base, tuned := strings.CutPrefix(model, "ft:"); tuned {
		if base, _, ok := strings.Cut(base, ":"); ok {
			list = append(list, "ft:"+base)
		}
	}
	for i := len(list) - 1; i < len(list) && len(list) < maxEditions; i++ {
		name := list[i]
		if at := edition.FindStringIndex(name); at != nil && at[0] > 0 {
			// `-v1:0` may be removed whole or up to its version.
			if colon := strings.LastIndexByte(name, ':'); colon > at[0] {
				list = append(list, name[:colon])
			}
			list = append(list, name[:at[0]])
		}
	}
	return list
}

// index finds prices by name.
type index struct {
	exact    map[listed]history
	patterns []pattern // most text first
}

// listed is the provider and the model's name of a price.
type listed struct{ provider, name string }

type pattern struct {
	listed
	parts   []string // the texts between the wildcards
	history history
}

func newIndex(prices []*Price) *index {
	x := &index{exact: map[listed]history{}}
	sorted := slices.Clone(prices)
	slices.SortStableFunc(sorted, func(a, b *Price) int { return a.From.Compare(b.From) })
	for _, price := range sorted {
		key := listed{price.Provider, price.Pattern}
		x.exact[key] = append(x.exact[key], price)
	}
	for key, history := range x.exact {
		if strings.Contains(key.name, "*") {
			x.patterns = append(x.patterns, pattern{key, strings.Split(key.name, "*"), history})
			delete(x.exact, key)
		}
	}
	slices.SortFunc(x.patterns, func(a, b pattern) int {
		if byText := (len(b.name) - strings.Count(b.name, "*")) - (len(a.name) - strings.Count(a.name, "*")); byText != 0 {
			return byText
		}
		// A pattern of a specific provider comes first.
		return strings.Compare(b.provider+" "+b.name, a.provider+" "+a.name)
	})
	return x
}

// find returns the prices of the first candidate in the index, or nil.
func (x *index) find(candidates []candidate, providers func(*candidate) []string) history {
	for i := range candidates {
		for _, provider := range providers(&candidates[i]) {
			if found, ok := x.exact[listed{provider, candidates[i].name}]; ok {
				return found
			}
		}
	}
	for p := range x.patterns {
		for i := range candidates {
			if slices.Contains(providers(&candidates[i]), x.patterns[p].provider) && x.patterns[p].matches(candidates[i].name) {
				return x.patterns[p].history
			}
		}
	}
	return nil
}

func (p *pattern) matches(name string) bool {
	first, last := p.parts[0], p.parts[len(p.parts)-1]
	if len(name) < len(first)+len(last) || !strings.HasPrefix(name, first) || !strings.HasSuffix(name, last) {
		return false
	}
	name = name[len(first) : len(name)-len(last)]
	for _, part := range p.parts[1 : len(p.parts)-1] {
		at := strings.Index(name, part)
		if at < 0 {
			return false
		}
		name = name[at+len(part):]
	}
	return true
}

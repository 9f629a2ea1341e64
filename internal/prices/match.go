package prices

import (
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// Matcher finds the price of a model by what a span calls it. It is safe for concurrent use.
type Matcher struct {
	table     *Table
	overrides *index // nil: none

	mu    sync.RWMutex
	found map[spoken]history
}

// spoken is how a span names a model.
type spoken struct{ provider, model string }

// maxRemembered bounds the names whose prices are remembered. A client may send a new one with every span; when there
// are too many all are forgotten, and the ones in use are found again.
const maxRemembered = 4096

func newMatcher(table *Table, overrides *index) *Matcher {
	return &Matcher{table: table, overrides: overrides, found: map[spoken]history{}}
}

// Matcher returns the matcher of the table alone.
func (t *Table) Matcher() *Matcher { return t.matcher }

// WithOverrides returns a matcher in which any of a project's overrides that matches wins over the table.
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

// Find returns the price of a model at a moment, or nil where none is known. A repeated name costs no allocation.
//
// The name is tried as it stands and then shortened: what leads to it goes (a path, a provider before a colon, an ARN, a
// region of Bedrock), and what tells its edition (a date, a version, `-latest`). A name as it stands wins over a shortened
// one, and a name over a pattern; of patterns the one with most text wins. A provider that the table knows has only its
// own prices, and those of the providers that it sells `also`. Where the span names no provider or a gateway, or one whose
// protocol others speak, the model's name decides.
func (m *Matcher) Find(provider, model string, at time.Time) *Price {
	if model == "" || len(model) > MaxPattern || len(provider) > MaxPattern {
		return nil
	}
	m.mu.RLock()
	known, ok := m.found[spoken{provider, model}]
	m.mu.RUnlock()
	if !ok {
		known = m.look(provider, model)
		m.mu.Lock()
		if len(m.found) >= maxRemembered {
			clear(m.found)
		}
		m.found[spoken{strings.Clone(provider), strings.Clone(model)}] = known
		m.mu.Unlock()
	}
	return known.at(at)
}

func (m *Matcher) look(provider, model string) history {
	candidates := m.table.candidates(normal(provider), normal(model))
	if m.overrides != nil {
		for i := range candidates {
			// An override may name a provider by any of its names, or name none.
			candidates[i].overridden = append(slices.Clone(candidates[i].providers), normal(provider), "")
		}
		if found := m.overrides.find(candidates, func(c *candidate) []string { return c.overridden }); found != nil {
			return found
		}
	}
	return m.table.index.find(candidates, func(c *candidate) []string { return c.providers })
}

// candidate is a name under which a model may be listed, and the providers that may list it, the likeliest first.
type candidate struct {
	name       string
	providers  []string
	overridden []string
}

// maxPathParts bounds the parts of a path that lead to a model's name.
const maxPathParts = 16

// candidates lists the names to try for a model, the most exact first.
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

// sellers returns the providers whose prices a model may have. id is the provider that the span names, where the table
// knows it; hint the one that the model's name begins with. open tells that the span's provider says little.
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

// cutLead takes away the first part of what leads to a model's name, such as `models/`, `azure/`, `openai:`, an ARN up to
// its resource, or a region of Bedrock.
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

// edition is what tells the edition of a model at the end of its name.
var edition = regexp.MustCompile(
	`(-\d{8}|-\d{4}-\d{2}-\d{2}|-latest|-00\d|-v\d+(:\d+)?(:\d+k)?|:\d+k?|@[0-9a-z-]+)$`)

// maxEditions bounds the names that editions returns.
const maxEditions = 8

// editions returns a model's name and the shorter ones that leave its edition out, the longest first. Of a fine-tuned
// model, `ft:BASE:ORGANIZATION:NAME:ID`, the base is part of the name, and what follows its edition.
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
			// `-v1:0` may go whole or up to its version.
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
	patterns []pattern // the one with most text first
}

// listed is how a price is listed: the provider and the model's name.
type listed struct{ provider, name string }

type pattern struct {
	listed
	parts   []string // what stands between the wildcards
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
		// A pattern of a named provider is the more specific one.
		return strings.Compare(b.provider+" "+b.name, a.provider+" "+a.name)
	})
	return x
}

// find returns the prices of the first candidate that is listed, or nil.
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

package evaluations

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"github.com/looptrace/looptrace/controlplane/completions"
	"github.com/looptrace/looptrace/controlplane/datasets"
	"github.com/looptrace/looptrace/controlplane/evaluations/judge"
	"github.com/looptrace/looptrace/controlplane/evaluations/panel"
	"github.com/looptrace/looptrace/controlplane/prompts"
	"github.com/looptrace/looptrace/controlplane/recording"
	"github.com/looptrace/looptrace/internal/problem"
)

// Panel is judges whose votes make one score.
type Panel struct {
	Name       string          `json:"name"`
	Kind       judge.Type      `json:"kind"`
	Aggregate  panel.Aggregate `json:"aggregate"`
	Judges     []Judge         `json:"judges"`
	Escalation *Judge          `json:"escalation"`
}

// Judge is a judge of a panel. It has the contents of the version of a prompt: it is the same for ever.
type Judge struct {
	// Definition is a [judge.Definition].
	Definition   json.RawMessage   `json:"definition"`
	ReadyMade    string            `json:"ready_made"`
	Prompt       *recording.Prompt `json:"prompt"`
	Content      *prompts.Content  `json:"content"`
	ProviderName string            `json:"provider_name"`
	Version      string            `json:"version"`
}

// Read returns the definition.
func (j *Judge) Read() (*judge.Definition, error) {
	d, err := judge.Parse(j.Definition, "judge")
	if err != nil {
		return nil, fmt.Errorf("read a judge: %w", err)
	}
	return d, nil
}

// all returns the judges with the escalation at the end.
func (p *Panel) all() []*Judge {
	list := make([]*Judge, 0, len(p.Judges)+1)
	for i := range p.Judges {
		list = append(list, &p.Judges[i])
	}
	if p.Escalation != nil {
		list = append(list, p.Escalation)
	}
	return list
}

// judgeAt is where a judge is in a panel at a location of the request.
func (p *Panel) judgeAt(at string, j int) string {
	if j == len(p.Judges) {
		return at + ".escalation"
	}
	return fmt.Sprintf("%s.judges[%d]", at, j)
}

// JudgePath is where a judge is in the panel i of a list at a location of the request.
func (p *Panel) JudgePath(location string, i, j int) string {
	return p.judgeAt(fmt.Sprintf("%s[%d]", location, i), j)
}

// ReadyJudge is a judge of a panel that is ready to ask.
type ReadyJudge struct {
	*judge.Judge
	Name    string
	Config  completions.Config
	Stored  *Judge
	Repeats int
}

// ReadyPanel is a panel that is ready to vote.
type ReadyPanel struct {
	*Panel
	Scale *judge.Scale // nil for a preference
	// All are the judges with the escalation at the end. Judges are those without it, as they are stored.
	All []ReadyJudge
}

// Regular are the judges without the escalation.
func (p *ReadyPanel) Regular() []ReadyJudge { return p.All[:len(p.Judges)] }

// ReadPanels checks the panels of a configuration. location is that of the list in the request.
func (c *Config) ReadPanels(location string, kind Type) ([]ReadyPanel, error) {
	ready, taken := make([]ReadyPanel, len(c.Panels)), map[string]bool{}
	for i := range c.Panels {
		p, at := &c.Panels[i], fmt.Sprintf("%s[%d]", location, i)
		switch {
		case taken[p.Name]:
			return nil, problem.InvalidField(at+".name", fmt.Sprintf("is %q, like that of an earlier panel: give each its own name", p.Name))
		case IsMeasured(p.Name):
			return nil, problem.InvalidField(at+".name", fmt.Sprintf("is %q, which is measured anyway: choose another name", p.Name))
		case p.Kind == judge.TypePreference && kind == EvalRun:
			return nil, problem.InvalidField(at+".kind", "is preference, which needs the two sides of a comparison")
		case p.Kind == judge.TypePreference && (c.Sides[SideA].Repeats != c.Sides[SideB].Repeats):
			return nil, problem.InvalidField(at+".kind", "is preference, which needs as many repeats on both sides")
		}
		taken[p.Name] = true
		var err error
		if ready[i], err = p.read(at); err != nil {
			return nil, err
		}
	}
	return ready, nil
}

// read checks a panel at a location of the request, and fills in its defaults.
func (p *Panel) read(at string) (ReadyPanel, error) {
	r, names := ReadyPanel{Panel: p}, map[string]bool{}
	for i, stored := range p.all() {
		judgeAt := p.judgeAt(at, i)
		one, err := stored.Ready(judgeAt)
		if err != nil {
			return r, err
		}
		d := one.Definition()
		switch {
		case names[d.Name]:
			return r, problem.InvalidField(judgeAt+".name", fmt.Sprintf("is %q, like that of an earlier judge: give each its own name", d.Name))
		case d.Type != p.Kind:
			return r, problem.InvalidField(judgeAt+".type", "differs from the kind of the panel")
		case i == 0:
			r.Scale = d.Scale
		case !sameScale(r.Scale, d.Scale):
			return r, problem.InvalidField(judgeAt+".scale", "differs from that of the first judge: the judges of a panel have one scale")
		}
		names[d.Name] = true
		r.All = append(r.All, one)
	}
	if err := p.checkAggregate(at, r.Scale); err != nil {
		return r, err
	}
	return r, nil
}

// CheckPasses refuses judges that pass other values than the first one of their panel, by which the panel passes.
func CheckPasses(location string, panels []ReadyPanel) error {
	for i := range panels {
		first := panels[i].All[0].Definition().Pass
		for j := range panels[i].All {
			if pass := panels[i].All[j].Definition().Pass; pass == nil || reflect.DeepEqual(pass, first) {
				continue
			}
			return problem.InvalidField(panels[i].JudgePath(location, i, j)+".pass", "differs from that of the first judge, by which the panel passes: give all the same, or leave it out")
		}
	}
	return nil
}

func sameScale(a, b *judge.Scale) bool {
	x, _ := json.Marshal(a) // they came from JSON
	y, _ := json.Marshal(b)
	return string(x) == string(y)
}

func (p *Panel) checkAggregate(at string, scale *judge.Scale) error {
	if p.Kind == judge.TypePreference {
		if p.Aggregate == "" {
			p.Aggregate = panel.Majority
		}
		if p.Aggregate != panel.Majority {
			return problem.InvalidField(at+".aggregate", "must be majority for a preference")
		}
		return nil
	}
	if p.Aggregate == "" {
		p.Aggregate = panel.Majority
		if scale.Type == judge.Ordinal || scale.Type == judge.Numeric {
			p.Aggregate = panel.Mean
		}
	}
	switch {
	case scale.Type == judge.Categorical && (p.Aggregate == panel.Mean || p.Aggregate == panel.Minimum):
		return problem.InvalidField(at+".aggregate", "is for numbers: categories have majority")
	case scale.Type == judge.Numeric && p.Aggregate == panel.Majority:
		return problem.InvalidField(at+".aggregate", "is for few values: numbers have mean or minimum")
	}
	return nil
}

// CheckRemoved refuses to make scores by an aggregate that was removed. What it made once is still read.
func CheckRemoved(location string, panels []Panel) error {
	for i := range panels {
		if panels[i].Aggregate.Removed() {
			return problem.InvalidField(fmt.Sprintf("%s[%d].aggregate", location, i), fmt.Sprintf("is %s, which was removed: choose majority, mean or minimum", panels[i].Aggregate))
		}
	}
	return nil
}

// Ready parses a judge at a location of the request.
func (j *Judge) Ready(at string) (ReadyJudge, error) {
	d, err := judge.Parse(j.Definition, at)
	if err != nil {
		return ReadyJudge{}, err //nolint:wrapcheck // it is for the client
	}
	one := ReadyJudge{Stored: j, Name: d.Name, Repeats: d.Repeats}
	if j.Definition, err = json.Marshal(d); err != nil {
		return one, fmt.Errorf("encode a judge: %w", err)
	}
	if err := json.Unmarshal(d.ModelConfig, &one.Config); err != nil {
		return one, problem.InvalidField(at+".model_config", "is not valid: "+err.Error())
	}
	if j.Content == nil {
		one.Judge, err = judge.New(d, nil, at)
	} else {
		var template *prompts.Template
		if template, err = prompts.NewTemplate(at+".prompt", prompts.NewVersion{Content: *j.Content}); err != nil {
			return one, err //nolint:wrapcheck // it is for the client
		}
		one.Judge, err = judge.New(d, template.Prompt(), at)
	}
	if err != nil {
		return one, err //nolint:wrapcheck // it is for the client
	}
	j.Version = one.Version()
	return one, one.withoutTrajectory(at)
}

// withoutTrajectory refuses a prompt that needs the messages of an agent: judges are shown its tool calls instead.
func (a *ReadyJudge) withoutTrajectory(at string) error {
	some := json.RawMessage(`"…"`)
	_, err := a.Try(&judge.Item{Input: some, ReferenceOutput: some, Metadata: json.RawMessage(`{}`)})
	refused := problem.Of(err)
	if refused == nil || len(refused.Fields) == 0 {
		return err
	}
	names := make([]string, len(refused.Fields))
	for i, field := range refused.Fields {
		names[i] = "{{" + field.Location + "}}"
	}
	return problem.InvalidField(at+".prompt", fmt.Sprintf(
		"needs %s: judges are not shown the messages of an agent. Name its tool_calls instead, or make the variable optional.", strings.Join(names, " and ")))
}

// Try asks about an output that says nothing.
func (a *ReadyJudge) Try(about *judge.Item) (*judge.Question, error) {
	said := judge.Output{Text: json.RawMessage(`"…"`), ToolCalls: []judge.ToolCall{}}
	if a.Definition().Type == judge.TypePreference {
		return a.AskPreference(about, &said, &said, judge.OrderAB, 0) //nolint:wrapcheck // it is for the client
	}
	return a.Ask(about, &said, 0) //nolint:wrapcheck // it is for the client
}

// JudgeItem returns an item as judges see it.
func JudgeItem(item *datasets.Item) *judge.Item {
	return &judge.Item{Input: json.RawMessage(item.Input), ReferenceOutput: json.RawMessage(item.ReferenceOutput), Metadata: json.RawMessage(item.Metadata)}
}

package replaytools

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/looptrace/looptrace/controlplane/mcpserver/tool"
)

// evidence is what a verdict rests on.
type evidence struct {
	// Controls and Treatments are the attempts that count.
	Controls   int `json:"controls"`
	Treatments int `json:"treatments"`
	// AttainableP is the smallest p that so many can reach, after the correction for the channels.
	AttainableP *float64 `json:"attainable_p,omitempty"`
	// Channels are those of which something is known.
	Channels []channel `json:"channels"`
}

// channel is a side on which an effect may show. P is after the correction; it is absent if nothing was tested.
type channel struct {
	Name    string     `json:"name"`
	Measure string     `json:"measure,omitempty"`
	Effect  *float64   `json:"effect,omitempty"`
	CI      []*float64 `json:"ci,omitempty"`
	P       *float64   `json:"p,omitempty"`
	Flags   []string   `json:"flags,omitempty"`
}

// storedVerdict is what is shown of a verdict as it is stored.
type storedVerdict struct {
	Verdict  string `json:"verdict"`
	Sentence string `json:"sentence"`
	Reasons  []struct {
		Text string `json:"text"`
	} `json:"reasons"`
	K           int `json:"k"`
	M           int `json:"m"`
	AttainableP struct {
		After *float64 `json:"after"`
	} `json:"attainable_p"`
	Channels map[string]struct {
		Measure string     `json:"measure"`
		Effect  *float64   `json:"effect"`
		CI      []*float64 `json:"ci"`
		P       *float64   `json:"p_adjusted"`
		Flags   []string   `json:"flags"`
	} `json:"channels"`
	First *struct {
		ID string `json:"id"`
	} `json:"first_attributable_step"`
}

func readVerdict(text []byte) (v storedVerdict, err error) {
	if err = json.Unmarshal(text, &v); err != nil {
		return v, fmt.Errorf("read a verdict: %w", err)
	}
	return v, nil
}

// channelNames are the channels in the order in which they are shown.
var channelNames = []string{"outcome", "structure", "answer", "cost", "tokens", "latency"}

func (v *storedVerdict) evidence() *evidence {
	e := &evidence{Controls: v.K, Treatments: v.M, AttainableP: tool.Rounded(v.AttainableP.After), Channels: []channel{}}
	for _, name := range channelNames {
		c, ok := v.Channels[name]
		if !ok || c.Effect == nil && slices.Contains(c.Flags, "unknown") {
			continue
		}
		for i := range c.CI {
			c.CI[i] = tool.Rounded(c.CI[i])
		}
		e.Channels = append(e.Channels, channel{Name: name, Measure: c.Measure, Effect: tool.Rounded(c.Effect), CI: c.CI, P: tool.Rounded(c.P), Flags: c.Flags})
	}
	return e
}

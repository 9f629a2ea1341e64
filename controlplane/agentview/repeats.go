package agentview

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/looptrace/looptrace/internal/runmodel"
)

// What repeats is shown once: a note takes about ten tokens, so shorter texts are shown again. minRepeat is how many bytes a whole text has
// at least, minUnit those that a line or a JSON string within a text has.
const (
	minRepeat = 48
	minUnit   = 80
)

// maxPlaces is how many places one note names.
const maxPlaces = 3

// place is where a text is shown: a part of a step. within reports that the part has other text, too, more that the text goes on there.
type place struct {
	step         int
	part         string
	within, more bool
}

func (p place) String() string {
	text := fmt.Sprintf("step %d %s", p.step+1, p.part)
	switch {
	case p.more:
		return "begins as " + text
	case p.within:
		return "part of " + text
	}
	return text
}

type digest [sha256.Size]byte

// repeats finds texts that another step shows. It does not depend on the budget, so that a larger view shows what a smaller one shows.
type repeats map[digest]place

// digestOf returns the same for texts that differ in white space only.
func digestOf(text string, more bool) digest {
	plain := strings.Join(strings.Fields(text), " ")
	if strings.HasPrefix(plain, "{") || strings.HasPrefix(plain, "[") {
		var compact bytes.Buffer
		if json.Compact(&compact, []byte(plain)) == nil {
			plain = compact.String()
		}
	}
	if more {
		plain += "\x00"
	}
	return sha256.Sum256([]byte(plain))
}

// unit is a line of a text, or the inside of a string of a JSON text, from and to which byte.
type unit struct {
	from, to int
	// text is the line, or the value of the string.
	text string
}

// unitsOf returns the units that are long enough to be referred to.
func unitsOf(text string) []unit {
	if strings.HasPrefix(text, "{") || strings.HasPrefix(text, "[") {
		if units, ok := stringsOf(text); ok {
			return units
		}
	}
	var units []unit
	from := 0
	for line := range strings.Lines(text) {
		bare := strings.TrimRight(line, "\r\n")
		if len(bare) >= minUnit {
			units = append(units, unit{from, from + len(bare), bare})
		}
		from += len(line)
	}
	return units
}

// stringsOf returns the long strings of a JSON text, and false for another text.
func stringsOf(text string) (units []unit, ok bool) {
	if !json.Valid([]byte(text)) {
		return nil, false
	}
	decoder := json.NewDecoder(strings.NewReader(text))
	for before := 0; ; before = int(decoder.InputOffset()) {
		token, err := decoder.Token()
		if err != nil {
			return units, true // the end
		}
		if value, isString := token.(string); isString && len(value) >= minUnit {
			from := before + strings.IndexByte(text[before:], '"') + 1
			units = append(units, unit{from, int(decoder.InputOffset()) - 1, value})
		}
	}
}

// add remembers where a text is shown, with its lines and strings. The first place of a text stays. at is that of the text.
func (r repeats) add(g *segment, at place) {
	remember := func(text string, least int) {
		if len(text) < least {
			return
		}
		key := digestOf(text, false)
		if _, ok := r[key]; !ok {
			r[key] = at
		}
	}
	if g.more {
		key := digestOf(g.text, true)
		if _, ok := r[key]; !ok {
			r[key] = place{step: at.step, part: at.part, more: true}
		}
	} else {
		remember(g.text, minRepeat)
	}
	at.within = true
	remember(g.call, minRepeat)
	for _, u := range unitsOf(g.text) {
		remember(u.text, minUnit)
		for line := range strings.Lines(u.text) {
			remember(line, minUnit)
		}
	}
}

// find returns where a text is shown.
func (r repeats) find(text string, more bool, least int) (place, bool) {
	if len(text) < least {
		return place{}, false
	}
	at, ok := r[digestOf(text, more)]
	return at, ok
}

// composition is the text of a part while it is put together.
type composition struct {
	mark  string
	b     strings.Builder
	notes [][2]int
	// places are those of the note that is not written yet.
	places []place
}

func (c *composition) write(text string) {
	if text == "" {
		return
	}
	c.flush()
	c.b.WriteString(text)
}

func (c *composition) note(text string) {
	from := c.b.Len()
	c.b.WriteString("<" + c.mark + " " + text + ">")
	c.notes = append(c.notes, [2]int{from, c.b.Len()})
}

// refer adds a place to the note.
func (c *composition) refer(at place) {
	if !slices.Contains(c.places, at) {
		c.places = append(c.places, at)
	}
}

func (c *composition) flush() {
	if len(c.places) > 0 {
		c.note(noteOf(c.places))
		c.places = nil
	}
}

// noteOf says where texts are shown.
func noteOf(places []place) string {
	var b strings.Builder
	b.WriteString("= ")
	for i, at := range places {
		if i == maxPlaces {
			fmt.Fprintf(&b, ", %d more", len(places)-i)
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(at.String())
	}
	return b.String()
}

// compose writes what can be shown of a part: texts that another part shows are notes. What a model says stays whole unless all of it is
// shown elsewhere.
func (r repeats) compose(p *part, mark string, acts bool) {
	c := &composition{mark: mark}
	for i := range p.segments {
		g := &p.segments[i]
		if at, ok := r.find(g.text, g.more, minRepeat); ok {
			c.refer(at)
			continue
		}
		if c.b.Len() > 0 || len(c.places) > 0 {
			c.flush()
			c.b.WriteByte('\n')
		}
		if p.name == partStack || p.name == partError {
			c.stack(g.text)
			continue
		}
		from := 0
		var units []unit
		if !acts || p.name != partOutput {
			units = unitsOf(g.text)
		}
		for _, u := range units {
			at, ok := r.find(u.text, false, minUnit)
			if !ok {
				continue
			}
			if between := g.text[from:u.from]; strings.TrimSpace(between) != "" {
				c.write(between)
			}
			c.refer(at)
			from = u.to
		}
		c.write(g.text[from:])
	}
	if c.b.Len() == 0 && len(c.places) > 0 {
		p.text, p.repeats = noteOf(c.places), true
		p.more = slices.ContainsFunc(c.places, func(at place) bool { return at.more })
		return
	}
	c.flush()
	p.text, p.notes = c.b.String(), c.notes
}

// stack writes a stack without the frames of libraries.
func (c *composition) stack(text string) {
	for i, part := range shortStack(text) {
		if i > 0 {
			c.b.WriteByte('\n')
		}
		if part.leftOut > 0 {
			frames := "frames"
			if part.leftOut == 1 {
				frames = "frame"
			}
			c.note(fmt.Sprintf("%d %s left out", part.leftOut, frames))
			continue
		}
		c.write(part.text)
	}
}

// findRepeats composes the texts that were read. Of the places that have the same text, it is shown in the focused step, else in a call
// of a model or tool rather than in a step around such calls, else where it was first.
func (v *view) findRepeats(focus int) {
	type occurrence struct {
		step, part int
		at         time.Time
		ends       bool
	}
	around := v.aroundCalls()
	var all []occurrence
	for i := range v.steps {
		for j := range v.steps[i].parts {
			span := v.steps[i].span
			o := occurrence{step: i, part: j, at: span.StartTime}
			switch v.steps[i].parts[j].name {
			case partError, partOutput, partResult, partStack:
				if o.ends = true; !runmodel.IsAbsent(span.EndTime) {
					o.at = span.EndTime
				}
			}
			all = append(all, o)
		}
	}
	slices.SortStableFunc(all, func(a, b occurrence) int {
		order := cmp.Or(
			cmp.Compare(one(a.step != focus), one(b.step != focus)), cmp.Compare(one(around[a.step]), one(around[b.step])),
			a.at.Compare(b.at), cmp.Compare(one(b.ends), one(a.ends)),
		)
		if order == 0 && a.ends {
			return cmp.Compare(b.step, a.step) // an inner step ends before the one around it
		}
		return cmp.Or(order, cmp.Compare(a.step, b.step))
	})
	v.repeats = repeats{}
	for _, o := range all {
		s := &v.steps[o.step]
		p := &s.parts[o.part]
		v.repeats.compose(p, s.mark, s.acts)
		for i := range p.segments {
			v.repeats.add(&p.segments[i], place{step: o.step, part: p.name, within: len(p.segments) > 1})
		}
	}
}

// aroundCalls reports for each step whether a call of a model or tool is below it.
func (v *view) aroundCalls() []bool {
	index := make(map[uint64]int, len(v.steps))
	for i := range v.steps {
		index[v.steps[i].span.SpanID] = i
	}
	around := make([]bool, len(v.steps))
	for i := range v.steps {
		switch v.steps[i].span.EffectiveKind() {
		case runmodel.KindLLM, runmodel.KindTool, runmodel.KindRetriever:
			for at, ok := index[v.steps[i].span.ParentSpanID]; ok && !around[at] && at != i; at, ok = index[v.steps[at].span.ParentSpanID] {
				around[at] = true
			}
		}
	}
	return around
}

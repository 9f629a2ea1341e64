package recorded

import (
	"slices"
	"strings"
)

// WasTold reports whether a model was told a text, so that it may be elsewhere for another reason than its answer.
func (r *Recording) WasTold(i int, text string) bool {
	talk := r.talks[i]
	return talk != nil && slices.ContainsFunc(talk.read, func(m *Message) bool { return strings.Contains(m.Text, text) })
}

// readDependence finds requests that have an output of an earlier step in a text that only the program makes.
func (r *Recording) readDependence() {
	c := downstream{Recording: r, begins: map[string][]int{}}
	whole := map[string]bool{}
	for i := range r.Steps {
		s := &r.Steps[i]
		if s.Kind == KindModel && s.Opaque == "" {
			for _, text := range r.inputsOf(i) {
				if !whole[strings.TrimSpace(text)] && c.textHasOutput(text, i) {
					s.Opaque = "The request has the output of an earlier step in a text that only the program makes."
					break
				}
			}
		}
		if s.Kind == KindFrame {
			continue
		}
		var output string
		if s.Tool != nil && s.Tool.Result != nil {
			output = *s.Tool.Result
		} else if s.Model != nil && s.Model.Response != nil {
			output = r.Cache[string(s.Model.Response.Message)].Text
		}
		if output = strings.TrimSpace(output); len(output) >= ShortestOutput && !whole[output] && !r.WasTold(i, output) {
			whole[output] = true
			c.begins[output[:ShortestOutput]] = append(c.begins[output[:ShortestOutput]], len(c.texts))
			c.texts = append(c.texts, outputText{output, i})
		}
	}
}

package runmodel

import "strings"

// runSpecific are the parameters that a program writes anew into the same instructions for each run. Numbers stay: a limit in the
// instructions makes another agent.
var runSpecific = map[string]bool{"email": true, "uuid": true, "date": true, "ip": true, "traceparent": true, "id": true}

// ConstantText returns instructions without what programs write into them for one run: dates, times, ids and addresses of people and
// machines. Two texts that differ in these only give the same. Spaces are collapsed.
func ConstantText(instructions string) string {
	text := collapseSpaces(instructions, len(instructions))
	var b strings.Builder
	copied := 0
	for at := 0; at < len(text); {
		from, step := at, 1
		isWordStart := isWord(text[from])
		if isWordStart {
			step = wordLength(text[from:])
		}
		at += step
		if isWordStart && isPlain(text[from:], step) || !isWordStart && !beginsAt(text, from) {
			continue
		}
		name, length := finderOf(text[from], false).find(text[from:])
		if !runSpecific[name] || !strings.ContainsAny(text[from:from+length], digits) && name != "email" {
			continue
		}
		b.WriteString(text[copied:from])
		b.WriteString("<" + name + ">")
		at = from + length
		copied = at
	}
	b.WriteString(text[copied:])
	return b.String()
}

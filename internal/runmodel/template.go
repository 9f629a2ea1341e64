package runmodel

import (
	"regexp"
	"strings"
)

// parameters are what messages of one kind differ in, in the order in which they are looked for at a place of a text; the
// names of the groups are what stands for them. An HTTP status says what went wrong and stays.
var parameters = regexp.MustCompile(strings.Join([]string{
	`(?P<keep>(?i:\b(?:status|code|http(?:/\d(?:\.\d)?)?)(?:[ _]code)?[:= ]{1,3}[1-5]\d\d\b))`,
	`(?P<email>[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63})+)`,
	`(?P<url>\b[a-zA-Z][a-zA-Z0-9+.-]{1,15}://[^\s'"<>)\]}]+)`,
	`(?P<ip>\b(?:\d{1,3}\.){3}\d{1,3}(?::\d{1,5})?\b|\[?(?:[0-9a-fA-F]{1,4}:){4,7}(?:[0-9a-fA-F]{1,4}|:)\]?(?::\d{1,5}\b)?|\[?::1\]?(?::\d{1,5}\b)?)`,
	`(?P<traceparent>\b00-[0-9a-f]{32}-[0-9a-f]{16}-0[01]\b)`,
	`(?P<uuid>\b[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}\b)`,
	`(?P<date>\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?|\b(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun),? )?(?:\d{1,2} )?(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]{0,6} \d{1,2},? \d{2,4}\b|\b\d\d:\d\d:\d\d(?:[.,]\d+)?\b)`,
	`(?P<duration>\b\d+(?:\.\d+)?(?: ?(?:ms|µs|us|ns|s|sec|secs|seconds?|m|min|mins|minutes?|h|hrs?|hours?|d|days?))(?:\d+(?:\.\d+)?(?:ms|s|m))*\b)`,
	`(?P<hex>\b0[xX][0-9a-fA-F]+\b)`,
	`(?P<host>\b(?:[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?\.){1,6}(?:com|net|org|io|ai|dev|cloud|app|local|localhost|internal|lan|corp|svc|co|eu|de|uk|us)\b(?::\d{1,5}\b)?|\blocalhost(?::\d{1,5}\b)?)`,
	`(?P<id>\b[a-zA-Z]{1,12}[_-][0-9a-zA-Z_-]*\d[0-9a-zA-Z]{7,}\b|\b[0-9a-zA-Z]*[a-zA-Z][0-9a-zA-Z]*\d[0-9a-zA-Z]{14,}\b|\b\d[0-9a-zA-Z]*[a-fA-F][0-9a-zA-Z]{6,}\b|\b[0-9a-f]{7,}\b)`,
	`(?P<float>[-+]?\b\d+\.\d+(?:[eE][-+]?\d+)?\b)`,
	`(?P<int>[-+]?\b\d+(?:,\d{3})*\b)`,
	`(?P<quoted>'[^'\n]{1,200}'|"[^"\n]{1,200}"|` + "`[^`\n]{1,200}`" + `)`,
	`(?P<bool>\b(?:true|True|false|False)\b)`,
}, "|"))

// Bounds of a template.
const (
	// maxTemplated is how much of a message is looked at, in bytes.
	maxTemplated = 600
	// maxTemplate is how long a template is at most, in bytes.
	maxTemplate = 240
)

// Template is a message without what tells messages of one kind apart: addresses, ids, times, numbers and what is quoted.
// Only the beginning of a message counts.
func Template(message string) string {
	if len(message) > maxTemplated {
		message = message[:maxTemplated]
	}
	message = strings.Join(strings.Fields(strings.ToValidUTF8(message, "")), " ")
	names := parameters.SubexpNames()
	var b strings.Builder
	copied := 0
	for _, match := range parameters.FindAllStringSubmatchIndex(message, -1) {
		for group := 1; group < len(names); group++ {
			from, to := match[2*group], match[2*group+1]
			if from < 0 {
				continue
			}
			apostrophe := names[group] == "quoted" && from > 0 && isLetter(message[from-1])
			if names[group] != "keep" && !apostrophe {
				b.WriteString(message[copied:from])
				b.WriteString("<" + names[group] + ">")
				copied = to
			}
			break
		}
	}
	b.WriteString(message[copied:])
	template := b.String()
	if len(template) > maxTemplate {
		template = strings.ToValidUTF8(template[:maxTemplate], "") + "…"
	}
	return template
}

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

// stepName is the name of a step without ids and numbers, and without the model that the conventions put behind it.
func stepName(s *Span) string {
	name := s.Name
	for _, model := range []string{s.RequestModel, s.ResponseModel} {
		if model != "" {
			name = strings.TrimSuffix(name, " "+model)
		}
	}
	return Template(name)
}

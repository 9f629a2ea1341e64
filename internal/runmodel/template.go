package runmodel

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
)

// parameters matches what varies in messages of one kind. At an offset of a text the alternatives are tried in this
// order. The name of the matching group replaces the text. An HTTP status says what went wrong, so it is kept.
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
	`(?P<float>[-+]?\b\d+\.\d+(?:[eE][-+]?\d+)?\b)`,
	`(?P<int>[-+]?\b\d+(?:,\d{3})*\b)`,
	`(?P<id>\b[a-zA-Z]{1,12}[_-][0-9a-zA-Z_-]*\d[0-9a-zA-Z]{7,}\b|\b[0-9a-zA-Z]*[a-zA-Z][0-9a-zA-Z]*\d[0-9a-zA-Z]{14,}\b|\b\d[0-9a-zA-Z]*[a-fA-F][0-9a-zA-Z]{6,}\b|\b[0-9a-f]{7,}\b)`,
	`(?P<word>\b[a-zA-Z_]\w*\d\w*\b)`,
	`(?P<quoted>\B'(?:[^']|\b'\b)+'\B|\b[bu]'[^']+'\B|"[^"]+"|` + "`[^`]+`" + `)`,
	`(?P<bool>\b(?:true|True|false|False)\b)`,
}, "|"))

// Limits of a template, in bytes.
const (
	// maxTemplated is how much of a message is read, maxBody how much if it has a response body.
	maxTemplated = 600
	maxBody      = 2000
	// maxTemplate limits the template itself.
	maxTemplate = 240
	// maxPhrase limits quoted phrases that are kept. Longer ones are what a user or a model wrote.
	maxPhrase = 40
)

// Template masks the parts that vary between messages of one kind: addresses, ids, times, numbers and quoted values.
// It reads only the beginning of a message. Of a response body in it (JSON or a Python dict) it keeps the members
// code, type and message.
func Template(message string) string {
	message = collapseSpaces(message, maxBody)
	var b strings.Builder
	if from, to, summary := bodyOf(message); summary != "" {
		mask(&b, message[:from], true)
		b.WriteString("{" + summary + "}")
		mask(&b, message[to:min(len(message), to+maxTemplated)], true)
	} else {
		mask(&b, message[:min(len(message), maxTemplated)], true)
	}
	return truncateTemplate(b.String())
}

// nameTemplate masks the ids and numbers in a name, unless they are part of a word.
func nameTemplate(name string) string {
	var b strings.Builder
	mask(&b, collapseSpaces(name, maxTemplated), false)
	return truncateTemplate(b.String())
}

func collapseSpaces(text string, maxLength int) string {
	return strings.Join(strings.Fields(strings.ToValidUTF8(text[:min(len(text), maxLength)], "")), " ")
}

func truncateTemplate(template string) string {
	template = strings.ToValidUTF8(template, "")
	if len(template) > maxTemplate {
		return strings.ToValidUTF8(template[:maxTemplate], "") + "…"
	}
	return template
}

// mask writes a text without its parameters. inWords says that numbers at the end of words are masked, too, as in
// messages but not in names.
func mask(b *strings.Builder, text string, inWords bool) {
	names := parameters.SubexpNames()
	copied := 0
	for _, match := range parameters.FindAllStringSubmatchIndex(text, -1) {
		group := 1
		for match[2*group] < 0 {
			group++
		}
		from, to := match[2*group], match[2*group+1]
		found := text[from:to]
		b.WriteString(text[copied:from])
		copied = to
		switch name := names[group]; {
		case name == "keep", name == "word" && !inWords, name == "id" && !strings.ContainsAny(found, "0123456789"):
			b.WriteString(found)
		case name == "word":
			b.WriteString(maskNumbers(found))
		case name == "quoted":
			maskQuoted(b, found, inWords)
		default:
			b.WriteString("<" + name + ">")
		}
	}
	b.WriteString(text[copied:])
}

// statusLine matches an HTTP status at the beginning of a text.
var statusLine = regexp.MustCompile(`^[1-5]\d\d `)

// maskQuoted writes a quoted text. It keeps an HTTP status and a phrase, but not a value. Text in backquotes is often
// what a model wrote.
func maskQuoted(b *strings.Builder, quoted string, inWords bool) {
	if quoted[0] == 'b' || quoted[0] == 'u' { // a Python literal
		b.WriteString("<quoted>")
		return
	}
	text := quoted[1 : len(quoted)-1]
	status := len(statusLine.FindString(text))
	isPhrase := quoted[0] != '`' && len(text) <= maxPhrase && strings.Contains(text, " ") && !strings.ContainsAny(text, "0123456789")
	if status == 0 && !isPhrase {
		b.WriteString("<quoted>")
		return
	}
	b.WriteString(quoted[:1+status])
	mask(b, text[status:], inWords)
	b.WriteByte(quoted[len(quoted)-1])
}

var (
	// terms matches words that end in a number which is no value.
	terms   = regexp.MustCompile(`^(?i:u?int|float|utf|sha|md|base|ipv|http|x|arm|amd)_?\d+`)
	numbers = regexp.MustCompile(`\d+`)
)

// maskNumbers masks numbers at the end of a word or before an underscore: order_1001, user42. It keeps capital
// letters with digits, which are mostly error codes, and one letter with one digit.
func maskNumbers(word string) string {
	if terms.MatchString(word) {
		return word
	}
	var b strings.Builder
	copied := 0
	for _, at := range numbers.FindAllStringIndex(word, -1) {
		before := word[at[0]-1]
		isEnd := at[1] == len(word) || word[at[1]] == '_'
		if !isEnd || before != '_' && (before < 'a' || before > 'z') || at[1] == 2 {
			continue
		}
		b.WriteString(word[copied:at[0]] + "<int>")
		copied = at[1]
	}
	b.WriteString(word[copied:])
	return b.String()
}

var (
	bodyStart = regexp.MustCompile(`\{ ?['"]`)
	// bodyMembers matches the members that say what went wrong. The body may be cut off within one.
	bodyMembers = regexp.MustCompile(`['"](code|type|message)['"] ?: ?(?:'((?:[^'\\]|\\.)*)(?:'|$)|"((?:[^"\\]|\\.)*)(?:"|$)|(\d[\w.-]*))`)
	codeValue   = regexp.MustCompile(`^[A-Za-z_.-]*\d{0,5}[A-Za-z_.-]*$`)
)

// bodyOf finds a response body in a message. It returns its offsets and its code, type and message, with their values
// masked.
func bodyOf(message string) (from, to int, summary string) {
	at := bodyStart.FindStringIndex(message)
	if at == nil || at[0] > maxTemplated {
		return 0, 0, ""
	}
	from, to = at[0], len(message)
	if end := strings.LastIndexByte(message, '}'); end > from {
		to = end + 1
	}
	var values []string
	for _, member := range []string{"code", "type", "message"} {
		for _, found := range bodyMembers.FindAllStringSubmatch(message[from:to], -1) {
			value := cmp.Or(found[2], found[3], found[4])
			if found[1] != member || value == "" {
				continue
			}
			if member == "message" || !codeValue.MatchString(value) {
				var b strings.Builder
				mask(&b, value[:min(len(value), maxTemplated)], true)
				value = b.String()
			}
			if !slices.Contains(values, value) && len(values) < maxMembers {
				values = append(values, value)
			}
		}
	}
	return from, to, strings.Join(values, " ")
}

// maxMembers limits the values of a body that go into a template.
const maxMembers = 8

// stepName returns the name of a step without ids, numbers and the model that the conventions append.
func stepName(s *Span) string { return nameTemplate(nameWithoutModel(s)) }

func nameWithoutModel(s *Span) string {
	name := s.Name
	for _, model := range []string{s.RequestModel, s.ResponseModel} {
		if model != "" {
			name = strings.TrimSuffix(name, " "+model)
		}
	}
	return name
}

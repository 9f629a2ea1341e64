package runmodel

import (
	"cmp"
	"regexp"
	"slices"
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
	`(?P<float>[-+]?\b\d+\.\d+(?:[eE][-+]?\d+)?\b)`,
	`(?P<int>[-+]?\b\d+(?:,\d{3})*\b)`,
	`(?P<id>\b[a-zA-Z]{1,12}[_-][0-9a-zA-Z_-]*\d[0-9a-zA-Z]{7,}\b|\b[0-9a-zA-Z]*[a-zA-Z][0-9a-zA-Z]*\d[0-9a-zA-Z]{14,}\b|\b\d[0-9a-zA-Z]*[a-fA-F][0-9a-zA-Z]{6,}\b|\b[0-9a-f]{7,}\b)`,
	`(?P<word>\b[a-zA-Z_]\w*\d\w*\b)`,
	`(?P<quoted>\B'(?:[^']|\b'\b)+'\B|\b[bu]'[^']+'\B|"[^"]+"|` + "`[^`]+`" + `)`,
	`(?P<bool>\b(?:true|True|false|False)\b)`,
}, "|"))

// Bounds of a template.
const (
	// maxTemplated is how much of a message is looked at, in bytes, and maxBody how far for the body of an answer.
	maxTemplated = 600
	maxBody      = 2000
	// maxTemplate is how long a template is at most, in bytes.
	maxTemplate = 240
	// maxPhrase is how long quoted words may be to stay, in bytes: what is longer was said by somebody.
	maxPhrase = 40
)

// Template is a message without what tells messages of one kind apart: addresses, ids, times, numbers, and what is quoted and
// looks like a value. Only the beginning of a message counts, and of the body of an answer in it (JSON, or Python's writing of
// it) what its members code, type and message say.
func Template(message string) string {
	message = spaced(message, maxBody)
	var b strings.Builder
	if from, to, said := bodyOf(message); said != "" {
		mask(&b, message[:from], true)
		b.WriteString("{" + said + "}")
		mask(&b, message[to:min(len(message), to+maxTemplated)], true)
	} else {
		mask(&b, message[:min(len(message), maxTemplated)], true)
	}
	return bounded(b.String())
}

// nameTemplate is a name without ids and numbers that stand by themselves.
func nameTemplate(name string) string {
	var b strings.Builder
	mask(&b, spaced(name, maxTemplated), false)
	return bounded(b.String())
}

func spaced(text string, longest int) string {
	return strings.Join(strings.Fields(strings.ToValidUTF8(text[:min(len(text), longest)], "")), " ")
}

func bounded(template string) string {
	template = strings.ToValidUTF8(template, "")
	if len(template) > maxTemplate {
		return strings.ToValidUTF8(template[:maxTemplate], "") + "…"
	}
	return template
}

// mask writes a text without its parameters; words tells that numbers at the end of words are some, too, as they are in messages
// and not in names.
func mask(b *strings.Builder, text string, words bool) {
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
		case name == "keep", name == "word" && !words, name == "id" && !strings.ContainsAny(found, "0123456789"):
			b.WriteString(found)
		case name == "word":
			b.WriteString(numbered(found))
		case name == "quoted":
			maskQuoted(b, found, words)
		default:
			b.WriteString("<" + name + ">")
		}
	}
	b.WriteString(text[copied:])
}

// statusLine begins with an HTTP status.
var statusLine = regexp.MustCompile(`^[1-5]\d\d `)

// maskQuoted writes a quoted text: an HTTP status and a phrase stay, a value does not. What stands in backquotes often is what
// a model said.
func maskQuoted(b *strings.Builder, quoted string, words bool) {
	if quoted[0] == 'b' || quoted[0] == 'u' { // as Python writes them
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
	mask(b, text[status:], words)
	b.WriteByte(quoted[len(quoted)-1])
}

var (
	// terms are words that end in a number which is no value.
	terms   = regexp.MustCompile(`^(?i:u?int|float|utf|sha|md|base|ipv|http|x|arm|amd)_?\d+`)
	numbers = regexp.MustCompile(`\d+`)
)

// numbered masks the numbers that a word ends in, or a part of it that ends with an underscore: order_1001, user42. Capital
// letters with digits behind them are mostly codes of errors, and stay; so does one letter with one digit.
func numbered(word string) string {
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
	// bodyMembers are the members that say what went wrong; a body may have been cut within one.
	bodyMembers = regexp.MustCompile(`['"](code|type|message)['"] ?: ?(?:'((?:[^'\\]|\\.)*)(?:'|$)|"((?:[^"\\]|\\.)*)(?:"|$)|(\d[\w.-]*))`)
	codeValue   = regexp.MustCompile(`^[A-Za-z_.-]*\d{0,5}[A-Za-z_.-]*$`)
)

// bodyOf finds the body of an answer in a message, and writes what its code, type and message say, values masked.
func bodyOf(message string) (from, to int, said string) {
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

// maxMembers bounds the values of a body that go into a template.
const maxMembers = 8

// stepName is the name of a step without ids and numbers, and without the model that the conventions put behind it.
func stepName(s *Span) string {
	name := s.Name
	for _, model := range []string{s.RequestModel, s.ResponseModel} {
		if model != "" {
			name = strings.TrimSuffix(name, " "+model)
		}
	}
	return nameTemplate(name)
}

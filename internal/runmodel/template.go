package runmodel

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/looptrace/looptrace/internal/utf8text"
)

// What the patterns of parameters have in common.
const (
	// inPath is a character of a path, inName one of the name of a resource.
	inPath = `[^\s'"<>()\[\]{},;|:]`
	inName = `[^\s'"<>()\[\]{},;|]`
	// decimal has thousands and a fraction, amount also an exponent. An exponent without a sign is short: 12e4567 may be the hash of a
	// commit.
	decimal = `\d+(?:[,_]\d{3})*(?:\.\d+)?`
	amount  = `(?:\d{1,3}(?:\.\d+)?[eE]\d{1,3}|(?:` + decimal + `|\.\d+)(?:[eE][-+]\d{1,3})?)`
	ipv4    = `(?:\d{1,3}\.){3}\d{1,3}`
	// ipv6 is RFC 4291, section 2.2: groups of digits, of which :: leaves out some. A name such as f64::MAX has a letter after it.
	ipv6 = `(?:(?:` + hextet + `:){1,7}(?::` + hextet + `){1,7}\b|(?:` + hextet + `:){4,7}` + hextet + `\b|(?:` + hextet + `:){1,7}:\B` +
		`|::(?:` + hextet + `:){0,6}(?:` + ipv4 + `|` + hextet + `)\b)(?:%\w{1,16})?(?:/\d{1,3}\b)?`
	hextet = `[0-9a-fA-F]{1,4}`
	port   = `(?::\d{1,5}\b)?`
	month  = `(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]{0,6}`
)

// parameter is what varies in messages of one kind.
type parameter struct {
	// name replaces it, unless mask looks at it again.
	name string
	// starts are the characters with which it begins: a for letters and the underscore, 0 for digits. Letters and digits begin a word.
	starts string
	// pattern must look at a part of the text only whose length is limited, or that no other one begins in: it is tried at each word.
	pattern string
}

// parameters are tried in this order. An HTTP status and a state of SQL say what went wrong, so they are kept.
var parameters = []parameter{
	{"keep", "a", `(?i:status|code|http(?:/\d(?:\.\d)?)?)(?i:[ _]code)?[:= ]{1,3}[1-5]\d\d\b`},
	// ISO/IEC 9075-2, subclause 24.1: a state has five characters, of which two are the class.
	{"keep", "a", `(?i:sql[ _]?state)(?: code)?[:= \[('"]{1,3}[0-9A-Za-z]{5}\b|ERROR \d{4} \([0-9A-Z]{5}\)`},
	{"keep", "a", `ERROR: (?:0[0-9A-Z]|2[0-9A-F]|3[489BDF]|4[024]|5[3-8]|72|F0|HV|P0|XX)[0-9A-Z]{3}\b`},
	{"email", "a0", `[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63})+`},
	{"url", "a", `[a-zA-Z][a-zA-Z0-9+.-]{1,15}://[^\s'"<>)\]}]+`},
	// Files of a user, and those that a program makes for a while.
	{"path", "/", `(?:(?:/[\w.-]{1,64}){0,4}/(?i:tmp|temp)|(?:/private)?/var/folders|/(?:usr/|var/)?home|/Users|/mnt/[a-z]/Users|/root|/run/user|/dev/shm)/` + inPath + `+`},
	{"path", "~", `~[\w.-]*/` + inPath + `+`},
	{"path", "a", `(?i:[a-z]:(?:[\\/]{1,2}windows)?[\\/]{1,2}(?:users|documents and settings|temp|tmp))[\\/]` + inPath + `+`},
	{"path", "%$", `(?i:%\w{0,16}(?:temp|tmp|profile|appdata)%|\$\{?(?:home|tmpdir|tmp|temp)\}?)[\\/]` + inPath + `+`},
	// Names of resources of Amazon, IBM, Oracle, Google and Azure, and URNs.
	{"resource", "a", `(?:arn|crn|urn):[\w.*-]*:` + inName + `+|ocid1\.[\w.-]+`},
	{"resource", "a", `projects/[\w.:-]{1,64}/(?:locations|regions|zones|global|secrets|topics|subscriptions|buckets|serviceAccounts|instances|databases|datasets|models|` +
		`keyRings|logs|roles|services|publishers|snapshots|jobs|queues|triggers|repos|images|disks|networks|clusters|endpoints)/` + inName + `+`},
	{"resource", "a", `(?:organizations|folders|billingAccounts)/[\w-]{0,16}\d{4}` + inName + `*`},
	{"resource", "/", `//[\w.-]{1,64}\.googleapis\.com/` + inName + `+`},
	{"resource", "a/", `(?i:/?subscriptions/(?:[0-9a-f]{8}-[0-9a-f-]{27}|[\w-]{1,64}/(?:resourceGroups|providers|locations)/)|/?resourceGroups/|/?providers/Microsoft\.)` + inName + `*`},
	{"ip", "0", ipv4 + `(?::\d{1,5})?\b`},
	{"ip", "a0:", ipv6 + port},
	{"ip", "[", `\[` + ipv6 + `\]:\d{1,5}\b`},
	{"traceparent", "0", `00-[0-9a-f]{32}-[0-9a-f]{16}-0[01]\b`},
	{"uuid", "a0", `[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}\b`},
	{"date", "0", `\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?|\d\d:\d\d:\d\d(?:[.,]\d+)?\b`},
	{"date", "a0", `(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun),? )?(?:(?:\d{1,2} )?` + month + ` \d{1,2},? \d{2,4}|\d{1,2} ` + month + ` \d{4})\b`},
	{"duration", "0.", amount + ` ?(?:ms|µs|us|ns|s|sec|secs|seconds?|m|min|mins|minutes?|h|hrs?|hours?|d|days?)(?:\d+(?:\.\d+)?(?:ms|s|m))*\b`},
	{"size", "0.", amount + `(?: ?(?i:[kmgtpe]i?b(?:ytes?|its?|ps)?(?:/s(?:ec)?)?|(?:kilo|mega|giga|tera|peta|kibi|mebi|gibi|tebi)?(?:bytes?|bits?)|[kmgt]?bps|[kmg]?hz)` +
		`| ?B|[KMGTPE]i|[kKMGT]|px)\b`},
	{"hex", "0", `0[xX][0-9a-fA-F]+\b`},
	{"host", "a0", `(?:[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?\.){1,6}(?:com|net|org|io|ai|dev|cloud|app|local|localhost|internal|lan|corp|svc|co|eu|de|uk|us)\b` + port + `|localhost` + port + `\b`},
	{"int", "0.-+", `[-+]?` + amount + `\b`},
	// RFC 4648, sections 4 and 5. JSON begins with eyJ in it.
	{"base64", "a0-+/", `eyJ[\w-]{4,}(?:\.[\w-]+){0,2}={0,2}|(?:[A-Za-z0-9+/_-]{6,}==|[A-Za-z0-9+/_-]{7,}=)\B|[A-Za-z0-9+/_-]{16,}`},
	{"id", "a0", `[a-zA-Z]{1,12}[_-][0-9a-zA-Z_-]{0,64}\d[0-9a-zA-Z]{7,}\b|[0-9a-zA-Z]*[a-zA-Z][0-9a-zA-Z]*\d[0-9a-zA-Z]{14,}\b|\d[0-9a-zA-Z]*[a-fA-F][0-9a-zA-Z]{6,}\b|[0-9a-f]{7,}\b`},
	{"word", "a", `[a-zA-Z_]\w*\d\w*\b`},
	{"quoted", `'`, `'(?:[^']|\b'\b)+'\B`},
	{"quoted", "a", `[bu]'[^']+'\B`},
	{"quoted", "\"`", `"[^"]+"|` + "`[^`]+`"},
	{"bool", "a", `(?:true|True|false|False)\b`},
}

// finder finds the parameters that begin with a character.
type finder struct {
	pattern    *regexp.Regexp
	parameters []*parameter // by the groups of the pattern
}

// finders are those for the characters with which parameters begin, and without base64 those for texts that are none.
var finders, findersWithoutBase64 = makeFinders(true), makeFinders(false)

func makeFinders(base64 bool) map[byte]*finder {
	all := map[byte]*finder{}
	for i := range parameters {
		for _, start := range []byte(parameters[i].starts) {
			all[start] = &finder{}
		}
	}
	for start, f := range all {
		var patterns []string
		for i := range parameters {
			p := &parameters[i]
			if strings.IndexByte(p.starts, start) >= 0 && (base64 || p.name != "base64") {
				patterns = append(patterns, "("+p.pattern+")")
				f.parameters = append(f.parameters, p)
			}
		}
		f.pattern = regexp.MustCompile("^(?:" + strings.Join(patterns, "|") + ")")
	}
	return all
}

// find returns the name and the length of the parameter at the beginning of a text, which begins with a character of the kind of start.
func (f *finder) find(text string) (name string, length int) {
	match := f.pattern.FindStringSubmatchIndex(text)
	if match == nil {
		return "", 0
	}
	group := 1
	for match[2*group] < 0 {
		group++
	}
	return f.parameters[group-1].name, match[1]
}

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
		return utf8text.Bytes(template, maxTemplate) + "…"
	}
	return template
}

// mask writes a text without its parameters. inWords says that numbers at the end of words are masked, too, as in
// messages but not in names.
func mask(b *strings.Builder, text string, inWords bool) {
	copied, noBase64 := 0, 0 // the end of what is written, and of a text that is no base64
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
		name, length := finderOf(text[from], from >= noBase64).find(text[from:])
		if name == "base64" && !isBase64(text[from:from+length]) {
			noBase64 = from + length
			name, length = finderOf(text[from], false).find(text[from:])
		}
		if length == 0 {
			continue
		}
		if name == "path" || name == "resource" { // what follows them is of the sentence
			length = len(strings.TrimRight(text[from:from+length], ".:!?"))
		}
		b.WriteString(text[copied:from])
		at = from + length
		copied = at
		switch found := text[from:at]; {
		case name == "keep", name == "word" && !inWords, (name == "id" || name == "ip") && !strings.ContainsAny(found, digits):
			b.WriteString(found)
		case name == "word":
			b.WriteString(maskNumbers(found))
		case name == "quoted":
			maskQuoted(b, found, inWords)
		case name == "base64":
			b.WriteString("<id>") // whatever its length, and whether it is padded
		default:
			b.WriteString("<" + name + ">")
		}
	}
	b.WriteString(text[copied:])
}

// beginsAt reports whether a parameter may begin with a character that is none of a word. Most do not directly after a word.
func beginsAt(text string, at int) bool {
	const anywhere = "-+[\"`"
	return finders[text[at]] != nil && (at == 0 || !isWord(text[at-1]) || strings.IndexByte(anywhere, text[at]) >= 0)
}

func finderOf(c byte, base64 bool) *finder {
	switch {
	case c >= '0' && c <= '9':
		c = '0'
	case isWord(c):
		c = 'a'
	}
	if base64 {
		return finders[c]
	}
	return findersWithoutBase64[c]
}

// isWord reports whether a character is one of a word, as in regular expressions.
func isWord(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

func wordLength(text string) int {
	for i := range len(text) {
		if !isWord(text[i]) {
			return i
		}
	}
	return len(text)
}

// startingWords are the first letters of words without digits with which parameters begin: statuses, states of SQL, dates, booleans and
// localhost.
const startingWords = "sta cod htt sql err mon tue wed thu fri sat sun jan feb mar apr may jun jul aug sep oct nov dec tru fal loc eyj"

// isPlain reports whether no parameter begins with the word of a length at the beginning of a text: most words of a message are so.
func isPlain(text string, length int) bool {
	word, rest := text[:length], text[length:]
	if len(rest) > 1 && (rest[0] == '.' || rest[0] == ':') {
		rest = rest[1:]
	}
	ends := rest == "" || strings.IndexByte(" ,;)]}!?", rest[0]) >= 0
	return ends && !strings.ContainsAny(word, digits) && !strings.Contains(startingWords, strings.ToLower(word[:min(len(word), 3)]))
}

const digits = "0123456789"

// isBase64 reports whether a text is base64 rather than words. It has letters of both cases and changes often between them and digits:
// random characters in the mean after 2, names such as getUserByIdV2 after 3. Names seldom have digits in two places. With a padding less
// is asked for.
func isBase64(text string) bool {
	if strings.HasPrefix(text, "eyJ") {
		return true
	}
	const lower, upper, digit, other = 0, 1, 2, 3
	var runs [4]int
	pieces, before := 0, -1
	characters := strings.TrimRight(text, "=")
	for _, c := range []byte(characters) {
		class := other
		switch {
		case c >= 'a' && c <= 'z':
			class = lower
		case c >= 'A' && c <= 'Z':
			class = upper
		case c >= '0' && c <= '9':
			class = digit
		}
		if class != before {
			runs[class]++
			if class != other && (before != upper || class != lower) { // a capital begins a word
				pieces++
			}
		}
		before = class
	}
	if runs[lower] == 0 || runs[upper] == 0 {
		return false
	}
	if len(characters) < len(text) {
		return runs[digit] > 0 || len(text)%4 == 0 && 10*pieces >= 3*len(characters)
	}
	return runs[digit] > 1 && 10*pieces >= 4*len(characters)
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
	isPhrase := quoted[0] != '`' && len(text) <= maxPhrase && strings.Contains(text, " ") && !strings.ContainsAny(text, digits)
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

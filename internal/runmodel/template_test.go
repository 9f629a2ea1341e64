package runmodel

import (
	"encoding/base64"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTemplate(t *testing.T) {
	t.Parallel()
	for message, want := range map[string]string{
		"":                                   "",
		"user ann.b+x@example.com not found": "user <email> not found",
		"GET https://api.example.com/v1/x?y=1: 500":                                          "GET <url> <int>",
		"dial tcp 10.1.2.3:443: i/o timeout":                                                 "dial tcp <ip>: i/o timeout",
		"dial tcp [::1]:443: refused":                                                        "dial tcp <ip>: refused",
		"lookup db.internal.example.com: no such host":                                       "lookup <host>: no such host",
		"run 550e8400-e29b-41d4-a716-446655440000 is gone":                                   "run <uuid> is gone",
		"commit da39a3ee5e6b4b0d3255bfef95601890afd80709":                                    "commit <id>",
		"at 2026-03-01T12:00:00.123Z it broke":                                               "at <date> it broke",
		"took 1.5s, limit 30 seconds":                                                        "took <duration>, limit <duration>",
		"address 0xdeadBEEF":                                                                 "address <hex>",
		"Error code: 429 - Limit 10000, used 9,500.":                                         "Error code: 429 - Limit <int>, used <int>.",
		"HTTP 503 after 3 tries":                                                             "HTTP 503 after <int> tries",
		"KeyError: 'flight_id'":                                                              "KeyError: <quoted>",
		"can't parse it's text":                                                              "can't parse it's text",
		"tool call_x9Yk2mPq81Zs not found in chat with req_0a1b2c3d4e5f":                     "tool <id> not found in chat with <id>",
		"temperature 0.75 of model gpt-4o is True":                                           "temperature <int> of model gpt-4o is <bool>",
		"  white \n space\tis one  ":                                                         "white space is one",
		"maximum recursion depth exceeded":                                                   "maximum recursion depth exceeded",
		"Client error '401 Unauthorized' for url 'https://api.example.com/v1/chat?n=1'":      "Client error '401 Unauthorized' for url <quoted>",
		"Client error '429 Too Many Requests' for url 'https://api.example.com/v1/chat?n=1'": "Client error '429 Too Many Requests' for url <quoted>",
		"Server error '503 shard 7 is away' for url 'https://x.example.com'":                 "Server error '503 shard <int> is away' for url <quoted>",
		"tool 'book seat' said 'no seat 7 is left', \"not so\" and `the model's wording`":    "tool 'book seat' said <quoted>, \"not so\" and <quoted>",
		"couldn't find row 4711 in 'orders'":                                                 "couldn't find row <int> in <quoted>",
		"the users' row 4711 isn't in \"orders\" or b'orders'":                               "the users' row <int> isn't in <quoted> or <quoted>",
		"row 1234567 has 1234567.5 of 12345678":                                              "row <int> has <int> of <int>",
		"commit 1234abcd of 0f1e2d3 defaced":                                                 "commit <id> of <id> defaced",
		"order_1001 not found":                                                               "order_<int> not found",
		"user42 is locked on shard3_7, int64 and utf8 and HTTP2 and TS2304 are not":          "user<int> is locked on shard<int>_<int>, int64 and utf8 and HTTP2 and TS2304 are not",
		`Error code: 400 - {'error': {'message': "This model's maximum context length is 8192 tokens.", 'type': 'invalid_request_error', 'param': 'messages', 'code': 'context_length_exceeded'}}`: "Error code: 400 - {context_length_exceeded invalid_request_error This model's maximum context length is <int> tokens.}",
		`Error code: 400 - {'error': {'message': "Invalid schema for function 'lookup'", 'type': 'invalid_request_error', 'param': None, 'code': None}}`:                                           "Error code: 400 - {invalid_request_error Invalid schema for function <quoted>}",
		`Error code: 529 - {'type': 'error', 'error': {'type': 'overloaded_error', 'message': 'Overloaded'}, 'request_id': 'req_011CSHoEeqs5C35K2UUqR7Fy'}`:                                        "Error code: 529 - {error overloaded_error Overloaded}",
		`429 from x: {"error":{"code":429,"message":"Quota of 7 requests \"a minute\" is used up","status":"RESOURCE_EXHAUSTED"}} at noon`:                                                         `<int> from x: {429 Quota of <int> requests \"a minute\" is used up} at noon`,
		`bad value {'user': 'u1', 'type': 'ticket 4711', 'n': 3}`:                 "bad value {ticket <int>}",
		`bad value {'user': 'u1', 'n': 3}`:                                        "bad value {<quoted>: <quoted>, <quoted>: <int>}",
		`{"detail": "no", "at": "/tmp/x1"}`:                                       "{<quoted>: <quoted>, <quoted>: <quoted>}",
		"No such file: /tmp/tmpab12cd/out.json":                                   "No such file: <path>",
		"cannot open C:\\Users\\ada\\run.log:12, /etc/hosts is there":             "cannot open <path>:<int>, /etc/hosts is there",
		"no /srv/app/tmp/x1/a.txt, ~/.config/x or $HOME/y":                        "no <path>, <path> or <path>",
		"build/tmp of /tmp and a/b":                                               "build/tmp of /tmp and a/b",
		"file of 12.5 MB, 12MB, 7GB, 1,024 bytes or 512Mi":                        "file of <size>, <size>, <size>, <size> or <size>",
		"read 12 MB/s at 2.4 GHz, 5 tokens, 16-bit":                               "read <size> at <size>, <int> tokens, <int>-bit",
		"score 1.5, -2, 1e-05, 3.2E+04, .5, 1_000 and 4.":                         "score <int>, <int>, <int>, <int>, <int>, <int> and <int>.",
		"version 1.2.3 of commit 12e4567":                                         "version <int>.<int> of commit <id>",
		"to ::1:5432, [fe80::1%eth0]:80, 2001:db8::/32, 1::2":                     "to <ip>, <ip>, <ip>, <ip>",
		"std::vector, DB::Exception, d3::MAX, iam::1, dead::beef":                 "std::vector, DB::Exception, d3::MAX, iam::<int>, dead::beef",
		"denied arn:aws:iam::111122223333:role/a to sign":                         "denied <resource> to sign",
		"no projects/my-app-7/secrets/key/versions/3 here":                        "no <resource> here",
		"no /subscriptions/0b1f6471-1bf0-4dda-aec3-111122223333/resourceGroups/g": "no <resource>",
		"GET /projects/7/tasks/9 failed":                                          "GET /projects/<int>/tasks/<int> failed",
		"bad cursor eyJpZCI6MTIzfQ== for page":                                    "bad cursor <id> for page",
		"bad token eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.dBjftJeZ4CVP":             "bad token <id>",
		"key b2Zmc2V0OjEyMzQ1 or zWvM+1/x7Qk9Lp0TtA== is bad":                     "key <id> or <id> is bad",
		"internationalization of getUserByIdV2Handler, timeout==5, userName==":    "internationalization of getUserByIdV2Handler, timeout==<int>, userName==",
		"ERROR: 23505 duplicate key, ERROR: 42P01 undefined table":                "ERROR: 23505 duplicate key, ERROR: 42P01 undefined table",
		"SQLSTATE 23505, SQLState: 40001, SQLSTATE[HY000] [2002]":                 "SQLSTATE 23505, SQLState: 40001, SQLSTATE[HY000] [<int>]",
		"ERROR 1062 (23000): Duplicate entry 7":                                   "ERROR 1062 (23000): Duplicate entry <int>",
		"invalid literal for int() with base 10: \"12a\"":                         "invalid literal for int() with base <int>: <quoted>",
	} {
		assert.Equal(t, want, Template(message), message)
	}
	for _, long := range []string{string(make([]byte, 10000)) + "x y z", strings.Repeat("it's 漢字 ", 1000), "{'type': '" + strings.Repeat("漢字 ", 1000), strings.Repeat("{'type': '7 a'", 1000)} {
		template := Template(long)
		assert.LessOrEqual(t, len(template), maxTemplate+3)
		assert.True(t, utf8.ValidString(template), template)
	}
	for name, want := range map[string]string{
		"lookup_v2": "lookup_v2", "sha256_sum": "sha256_sum", "step 07": "step <int>", "chat gpt-5": "chat", "fetch call_x9Yk2mPq81Zs": "fetch <id>",
	} {
		assert.Equal(t, want, stepName(&Span{Name: name, RequestModel: "gpt-5"}))
	}
}

// TestSameFailure has messages of one failure, and of two.
func TestSameFailure(t *testing.T) {
	t.Parallel()
	for _, same := range [][]string{
		{"thread 12 not found", "thread 97 not found"},
		{"No such file: /tmp/tmpab12cd/out.json", "No such file: /tmp/tmpzz98qw/out.json", "No such file: /private/var/folders/zz/zyx_n0/T/tmpq.json", `No such file: C:\Users\ada\AppData\Local\Temp\tmp1.json`},
		{"cannot open /home/ada/run.log", "cannot open /home/bob/run.log", "cannot open /Users/ada/run.log", "cannot open ~/run.log"},
		{"score 1.5 too low", "score 2 too low", "score -0.25 too low", "score 1,000 too low"},
		{"file of 12 MB too large", "file of 12.5 MB too large", "file of 12MB too large", "file of 7GB too large", "file of 1048576 bytes too large", "file of 3 KiB too large"},
		{"loss 1e-05 diverged", "loss 3.2e+04 diverged", "loss 12.5 diverged", "loss 6.02E23 diverged"},
		{"connect ECONNREFUSED ::1:5432", "connect ECONNREFUSED fe80::1ff:fe23:4567:890a:5432", "connect ECONNREFUSED 127.0.0.1:5432", "connect ECONNREFUSED [2001:db8::7]:5432"},
		{"denied arn:aws:iam::111122223333:role/a", "denied arn:aws:iam::444455556666:role/a", "denied arn:aws:sts::1:assumed-role/b/c"},
		{"no projects/app-one/topics/a", "no projects/other-app/topics/b"},
		{"no /subscriptions/0b1f6471-1bf0-4dda-aec3-111122223333/resourceGroups/g/providers/Microsoft.Web/sites/s", "no /subscriptions/aaaaaaaa-1bf0-4dda-aec3-444455556666/resourceGroups/h"},
		{"bad cursor eyJpZCI6MTIzfQ==", "bad cursor eyJpZCI6NDU2Nzh9==", "bad cursor eyJpZCI6MTIzNH0", "bad cursor b2Zmc2V0OjEyMw=="},
	} {
		for _, message := range same[1:] {
			assert.Equal(t, Template(same[0]), Template(message), message)
		}
	}
	for _, different := range [][2]string{
		{"HTTP 404 from orders", "HTTP 500 from orders"},
		{"ERROR: 23505 duplicate key", "ERROR: 42P01 undefined table"},
		{"failed (SQLSTATE 23505)", "failed (SQLSTATE 23503)"},
		{"status code 404, 12 MB", "status code 500, 12 MB"},
		{"cannot open /etc/hosts", "cannot open /etc/passwd"},
		{"no std::vector", "no std::map"},
		{"GET /projects/7/tasks/9", "GET /projects/7/members/9"},
		{"file of 12 MB", "file of 12 rows"},
		{"OAuth2Token is missing", "GetUserByIdV2 is missing"},
	} {
		assert.NotEqual(t, Template(different[0]), Template(different[1]), different[0])
	}
}

// kinds make values of the kinds of parameters. Messages that differ in such values only have one template.
var kinds = map[string]func(r *rand.Rand) string{
	"path": func(r *rand.Rand) string {
		return pick(r, "/tmp/", "/var/tmp/", "/private/var/folders/zz/", "/home/ada/", "/Users/bob/", "/root/", "~/", `C:\Users\ada\`, "C:/Users/bob/", `%TEMP%\`, "$HOME/", "/app/tmp/", "/dev/shm/") +
			letters(r, 1+r.IntN(12)) + pick(r, "/", ".", "-", "_") + letters(r, 1+r.IntN(8)) + pick(r, "", ".json", "/out.log")
	},
	"size": func(r *rand.Rand) string {
		return pick(r, fmt.Sprint(r.IntN(5000)), fmt.Sprintf("%.1f", 100*r.Float64())) + pick(r, "", " ") + pick(r, "MB", "GB", "KiB", "kB", "bytes", "B", "Mbps", "TiB")
	},
	"int": func(r *rand.Rand) string {
		return pick(r, fmt.Sprint(r.IntN(100_000)), fmt.Sprintf("%.3f", 100*r.Float64()), fmt.Sprintf("-%d.5", r.IntN(100)), fmt.Sprintf("%.2e", 1e9*r.Float64()), fmt.Sprintf("%de-05", r.IntN(9)), "1,234,567", ".5", "12_000")
	},
	"ip": func(r *rand.Rand) string {
		address := fmt.Sprintf("%x:%x:%x:%x", r.IntN(65536), r.IntN(65536), r.IntN(65536), r.IntN(10))
		return pick(r, "::1", "::1:5432", "[::1]:443", "fe80::"+address+":5432", "2001:db8::"+fmt.Sprint(r.IntN(9)), "fe80::1%eth0", "::ffff:10.0.0."+fmt.Sprint(r.IntN(255)),
			"2001:db8:0:1:"+address, fmt.Sprintf("10.%d.0.1", r.IntN(255)), fmt.Sprintf("10.0.0.1:%d", r.IntN(65536)))
	},
	"resource": func(r *rand.Rand) string {
		account := fmt.Sprintf("%012d", r.Int64N(1e12))
		return pick(r, "arn:aws:iam::"+account+":role/"+letters(r, 5), "arn:aws-cn:s3:::"+letters(r, 9)+"/*", "arn:aws:lambda:eu-west-1:"+account+":function:"+letters(r, 4)+":$LATEST",
			"projects/"+letters(r, 6)+"-12/secrets/"+letters(r, 4)+"/versions/3", "projects/"+account+"/locations/europe-west1/"+letters(r, 5)+"/x", "//storage.googleapis.com/projects/_/buckets/"+letters(r, 5),
			"/subscriptions/"+uuid.NewString()+"/resourceGroups/"+letters(r, 5)+"/providers/Microsoft.Web/sites/"+letters(r, 3), "/resourceGroups/"+letters(r, 7), "ocid1.instance.oc1.iad."+letters(r, 20), "urn:li:share:"+account)
	},
	"id": func(r *rand.Rand) string {
		random := ""
		for !strings.ContainsAny(random, digits) { // of the others some look like names
			raw := make([]byte, 20)
			for i := range raw {
				raw[i] = byte(r.Uint32())
			}
			random = base64.URLEncoding.EncodeToString(raw)
		}
		return pick(r, base64.StdEncoding.EncodeToString(fmt.Appendf(nil, `{"id":%d}`, r.IntN(1e6))), base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, `{"offset":%d}`, r.IntN(1e6))),
			random, "call_"+letters(r, 5)+"7"+letters(r, 9), fmt.Sprintf("%07x", 0xa000000+r.IntN(1e7)))
	},
	"uuid": func(*rand.Rand) string { return uuid.NewString() },
	"url": func(r *rand.Rand) string {
		return pick(r, "https", "postgres", "s3") + "://" + letters(r, 5) + "/" + letters(r, 4)
	},
	"email": func(r *rand.Rand) string { return letters(r, 4) + "@example.com" },
	"hex":   func(r *rand.Rand) string { return fmt.Sprintf("%#x", 1+r.Uint32()) },
	"host":  func(r *rand.Rand) string { return letters(r, 4) + pick(r, ".example.com", ".internal:8443", ".local") },
	"date": func(r *rand.Rand) string {
		return pick(r, "2026-03-01", "2026-03-01T12:00:00Z", "12:30:45", "Mon, 3 Mar 2026", "Mar 3, 2026")
	},
	"duration": func(r *rand.Rand) string {
		return fmt.Sprint(r.IntN(100)) + pick(r, "ms", " seconds", ".5s", "m30s", "h", " days")
	},
}

func pick(r *rand.Rand, from ...string) string { return from[r.IntN(len(from))] }

func letters(r *rand.Rand, n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte('a' + r.IntN(26))
	}
	return string(b)
}

// places are where values stand in messages.
var places = []string{
	"cannot read %s", "%s: not found", "no %s or %s here", "value=%s, limit=%s", "(%s) and [%s]", "from %s to %s!", "is %s; was %s?", "HTTP 404 of %s", "ERROR: 23505 at %s", "SQLSTATE 40001, then %s", "{%s}", "at: %s",
}

// FuzzParameters exchanges values of the kinds of parameters for others, beside values of other kinds: the template stays the same, and keeps
// statuses.
func FuzzParameters(f *testing.F) {
	for i := range 64 {
		f.Add(uint64(i))
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 0))
		names := slices.Sorted(maps.Keys(kinds))
		first, second := pick(r, names...), pick(r, names...)
		place := pick(r, places...)
		message := func() string {
			values := []any{kinds[first](r), kinds[second](r)}
			return fmt.Sprintf(place, values[:strings.Count(place, "%s")]...)
		}
		a, b := message(), message()
		template := Template(a)
		require.Equal(t, template, Template(b), "%q and %q", a, b)
		require.Contains(t, template, "<"+first+">", a)
		for _, kept := range []string{"HTTP 404", "ERROR: 23505", "SQLSTATE 40001"} {
			require.Equal(t, strings.Contains(place, kept), strings.Contains(template, kept), a)
		}
		require.Equal(t, template, Template(template), "%q, again", a)
	})
}

// FuzzTemplate reads any message. Its template is a short text that depends on the beginning of the message only, so that the time has a
// bound. A word that is passed over has nothing to mask. That a template has nothing more to mask holds for messages of the kinds only
// (FuzzParameters): of A.ai1 a number is left out first, and then A.ai is a host.
func FuzzTemplate(f *testing.F) {
	for _, message := range []string{
		"it's 'no seat 7' of \"x\"", "{'type': '7 a', \"message\": \"no 7\"}", "a-a-a-a-1", "::::1::", "'401 '401 \"401 `401 `", "eyJ.=.=", "/tmp//tmp/", "status code: 404 4O4", "projects/projects/a/logs/", "1e5e5.5.5", "b'b'b'",
	} {
		f.Add(message)
	}
	f.Fuzz(func(t *testing.T, message string) {
		template := Template(message)
		require.True(t, utf8.ValidString(template))
		require.LessOrEqual(t, len(template), maxTemplate+len("…"))
		if len(message) >= maxBody {
			require.Equal(t, template, Template(message+" more"))
		}
		for at := range len(message) {
			if !isWord(message[at]) || at > 0 && isWord(message[at-1]) || !isPlain(message[at:], wordLength(message[at:])) {
				continue
			}
			name, length := finderOf(message[at], true).find(message[at:])
			if name == "base64" && !isBase64(message[at:at+length]) {
				name, length = finderOf(message[at], false).find(message[at:])
			}
			require.True(t, length == 0 || name == "id" || name == "ip", "%q has a %s and is not looked at", message[at:], name)
		}
	})
}

package runmodel

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestConstantText(t *testing.T) {
	same := [][2]string{
		{"Today is 2026-11-29T10:00:00Z. Help ann@example.com.", "Today is 2026-11-30T23:59:59Z.  Help bob.b@mail.example.org."},
		{"It is Sat, 28 November 2026.", "It is Sun, 29 November 2026."},
		{"Session 3f2504e0-4f89-11d3-9a0c-0305e82c3301", "Session 7d444840-9dc0-11d1-b245-5ffdce74fad2"},
		{"Host 10.0.0.7:80", "Host 10.0.12.9:81"},
		{"Ticket TCK-20261129A88", "Ticket TCK-20261130B91"},
	}
	for _, pair := range same {
		assert.Equal(t, ConstantText(pair[0]), ConstantText(pair[1]))
	}
	differ := [][2]string{
		{"Refund at most 3 orders.", "Refund at most 5 orders."},
		{`Answer "yes".`, `Answer "no".`},
		{"Wait 10 seconds.", "Wait 20 seconds."},
		{"Use the search-tool first.", "Use the lookup-tool first."},
	}
	for _, pair := range differ {
		assert.NotEqual(t, ConstantText(pair[0]), ConstantText(pair[1]))
	}
	long := strings.Repeat("Read the policy before you refund. ", 10000)
	assert.Equal(t, strings.TrimSpace(long), ConstantText(long))
}

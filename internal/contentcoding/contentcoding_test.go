package contentcoding_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/looptrace/looptrace/internal/contentcoding"
)

func TestAccepted(t *testing.T) {
	t.Parallel()
	for header, want := range map[string]bool{
		"":                      false,
		"identity":              false,
		"br":                    false,
		"xgzip":                 false,
		"gzip":                  true,
		"GZIP":                  true,
		"br, gzip":              true,
		"gzip;q=0":              false,
		"gzip; q=0.000":         false,
		"gzip;q=0.5, br;q=1":    true,
		"*":                     true,
		"*;q=0":                 false,
		"gzip;q=0, *":           false,
		"*;q=0, gzip":           true,
		"gzip;q=nonsense":       false,
		"identity, gzip ; Q=1 ": true,
	} {
		assert.Equal(t, want, contentcoding.Accepted(http.Header{"Accept-Encoding": {header}}, contentcoding.Gzip), "%q", header)
	}
	several := http.Header{"Accept-Encoding": {"gzip;q=0", "br"}}
	assert.False(t, contentcoding.Accepted(several, contentcoding.Gzip))
	assert.True(t, contentcoding.Accepted(several, contentcoding.Brotli))
}

package httpapi

import (
	"log/slog"
	"net/http"
	"net/http/httptest"

	"github.com/gin-gonic/gin"
)

// What tests of the API need besides what is exported.
var (
	CredentialOf  = credentialOf
	GinPath       = ginPath
	IsPublic      = isPublic
	KeptHeaders   = keptHeaders
	PathParameter = pathParameter
	PlainIntegers = plainIntegers
	PresentsKey   = presentsKey
	Unheld        = unheld
)

const (
	DefaultMaxBody      = defaultMaxBody
	OwnAddress          = ownAddress
	PingTimeout         = pingTimeout
	StreamBodyExtension = streamBodyExtension
)

// Recovering returns an engine whose handlers may panic.
func Recovering(log *slog.Logger) *gin.Engine {
	a := &api{log: log, metrics: newMetrics()}
	engine := gin.New()
	engine.Use(Addresses{}.identify, a.observe, a.recoverPanic)
	return engine
}

// ClientOf returns what a request tells of its client.
func ClientOf(a Addresses, r *http.Request) (address string, https bool) {
	c, _ := gin.CreateTestContext(httptest.NewRecorder())
	c.Request = r
	a.identify(c)
	request := callOf(c.Request.Context())
	return request.client.Address.String(), request.https
}

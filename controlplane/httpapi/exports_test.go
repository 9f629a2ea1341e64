package httpapi

import (
	"log/slog"

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
	engine.Use(identify, a.observe, a.recoverPanic)
	return engine
}

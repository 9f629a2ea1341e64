package manifest

// The collector is built from generated code in a folder that the go command ignores. These imports keep the stock
// components of the manifest in go.mod.
import (
	_ "github.com/open-telemetry/opentelemetry-collector-contrib/exporter/fileexporter"
	_ "github.com/open-telemetry/opentelemetry-collector-contrib/exporter/kafkaexporter"
	_ "github.com/open-telemetry/opentelemetry-collector-contrib/extension/basicauthextension"
	_ "github.com/open-telemetry/opentelemetry-collector-contrib/extension/bearertokenauthextension"
	_ "github.com/open-telemetry/opentelemetry-collector-contrib/extension/healthcheckextension"
	_ "github.com/open-telemetry/opentelemetry-collector-contrib/extension/oauth2clientauthextension"
	_ "github.com/open-telemetry/opentelemetry-collector-contrib/extension/storage/filestorage"
	_ "github.com/open-telemetry/opentelemetry-collector-contrib/processor/probabilisticsamplerprocessor"
	_ "github.com/open-telemetry/opentelemetry-collector-contrib/processor/resourceprocessor"
	_ "go.opentelemetry.io/collector/confmap/provider/envprovider"
	_ "go.opentelemetry.io/collector/confmap/provider/fileprovider"
	_ "go.opentelemetry.io/collector/confmap/provider/yamlprovider"
	_ "go.opentelemetry.io/collector/connector/forwardconnector"
	_ "go.opentelemetry.io/collector/exporter/debugexporter"
	_ "go.opentelemetry.io/collector/exporter/otlpexporter"
	_ "go.opentelemetry.io/collector/exporter/otlphttpexporter"
	_ "go.opentelemetry.io/collector/extension/zpagesextension"
	_ "go.opentelemetry.io/collector/otelcol"
	_ "go.opentelemetry.io/collector/processor/batchprocessor"
	_ "go.opentelemetry.io/collector/processor/memorylimiterprocessor"
	_ "go.opentelemetry.io/collector/receiver/otlpreceiver"
	_ "go.opentelemetry.io/collector/service/telemetry/otelconftelemetry"
)

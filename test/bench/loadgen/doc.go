// Package loadgen generates OTLP trace load, sends it over HTTP as fast as it is answered, and reports the answers.
//
// There are two loads: Spans, generated, about 1.9 kB each; and Agents, recorded runs of an agent multiplied, in
// which each model call carries its whole history. The generator shares the machine with the measured processes, so
// it encodes requests once and then replaces only their ids and times: about one CPU second per million spans.
package loadgen

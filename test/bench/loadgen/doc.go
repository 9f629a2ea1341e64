// Package loadgen makes OTLP trace load, sends it over HTTP as fast as it is answered, and tells how it was answered.
//
// There are two loads: Spans, made up, about 1.9 kB each; and Agents, recorded runs of an agent multiplied, in which
// each model call carries its whole history. The generator shares the machine with what it measures, so that requests
// are encoded once and only their ids and times are written anew: about one CPU second per million spans.
package loadgen

// Package recordedtest makes the spans of runs for tests.
package recordedtest

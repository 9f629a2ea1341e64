// Package timing decides by recorded durations what edits of timeouts and retries do to the steps of a run.
package timing

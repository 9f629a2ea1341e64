package runmodel

import (
	"encoding/hex"
	"hash/fnv"
)

// RootSpanID returns the id of the span that stands for a native run: the last 8 bytes of its run id, which are
// random in UUIDs of every version. If they are all zero, which OTLP does not allow, it returns the FNV-1a hash of
// the whole run id.
func RootSpanID(runID [16]byte) [8]byte {
	id := [8]byte(runID[8:])
	if id == [8]byte{} {
		h := fnv.New64a()
		_, _ = h.Write(runID[:]) // a hash.Hash never returns an error
		id = [8]byte(h.Sum(nil))
	}
	return id
}

// RunID writes a trace id as the UUID by which the API names the run.
func RunID(traceID [16]byte) string {
	var b [36]byte
	hex.Encode(b[:8], traceID[:4])
	b[8] = '-'
	hex.Encode(b[9:13], traceID[4:6])
	b[13] = '-'
	hex.Encode(b[14:18], traceID[6:8])
	b[18] = '-'
	hex.Encode(b[19:23], traceID[8:10])
	b[23] = '-'
	hex.Encode(b[24:], traceID[10:])
	return string(b[:])
}

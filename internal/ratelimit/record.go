package ratelimit

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/google/uuid"
)

// record is what replicas send each other: the cumulative counters of one replica.
type record struct {
	replica string
	// epoch distinguishes the processes of a replica.
	epoch uint64
	// seq counts the records of an epoch from 1.
	seq uint64
	// snapshotFrom is the seq of the first record of a snapshot, in its last record. It is 0 in all others.
	snapshotFrom uint64
	// leaving reports that this is the last record.
	leaving bool
	entries []entry
}

// entry is a bucket as one replica sees it.
type entry struct {
	subject     Subject
	incarnation uint64
	// limits let replicas that have not met the subject yet keep its bucket.
	limits   Limits
	counters [measures]uint64
	// levels are the tokens that the replica sees, for replicas that start.
	levels [measures]float64
}

const (
	recordVersion = 1

	flagLeaving = 1

	// uuidFlag is set beside the kind if the id is written in 16 bytes.
	uuidFlag = 0x80

	// maxEntries keeps a record below 300 kB.
	maxEntries = 4_000
	maxIDSize  = 256

	// rateScale: rates are written in thousandths.
	rateScale = 1000
)

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

func (r *record) encode() []byte {
	b := make([]byte, 0, 64+len(r.entries)*48)
	var flags byte
	if r.leaving {
		flags |= flagLeaving
	}
	b = append(b, recordVersion, flags)
	b = appendText(b, r.replica)
	b = binary.AppendUvarint(b, r.epoch)
	b = binary.AppendUvarint(b, r.seq)
	b = binary.AppendUvarint(b, r.snapshotFrom)
	b = binary.AppendUvarint(b, uint64(len(r.entries)))
	for i := range r.entries {
		b = r.entries[i].append(b)
	}
	return b
}

func (e *entry) append(b []byte) []byte {
	if id, err := uuid.Parse(e.subject.ID); err == nil && id.String() == e.subject.ID {
		b = append(append(b, byte(e.subject.Kind)|uuidFlag), id[:]...)
	} else {
		b = appendText(append(b, byte(e.subject.Kind)), e.subject.ID)
	}
	b = binary.AppendUvarint(b, e.incarnation)
	for i, limit := range e.limits {
		rate := uint64(math.Ceil(limit.Rate * rateScale))
		b = binary.AppendUvarint(b, rate)
		if rate == 0 {
			continue
		}
		b = binary.AppendUvarint(b, uint64(limit.Burst))
		b = binary.AppendUvarint(b, e.counters[i])
		b = binary.AppendVarint(b, int64(math.Floor(e.levels[i])))
	}
	return b
}

var errCutOff = errors.New("record is cut off")

// reader parses a record. After an error it returns zero values.
type reader struct {
	rest []byte
	err  error
}

func (r *reader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
	r.rest = nil
}

func (r *reader) bytes(n uint64) []byte {
	if n > uint64(len(r.rest)) {
		r.fail(errCutOff)
		return nil
	}
	b := r.rest[:n]
	r.rest = r.rest[n:]
	return b
}

func (r *reader) byte() byte {
	if b := r.bytes(1); b != nil {
		return b[0]
	}
	return 0
}

func (r *reader) uvarint() uint64 {
	v, n := binary.Uvarint(r.rest)
	if n <= 0 {
		r.fail(errCutOff)
		return 0
	}
	r.rest = r.rest[n:]
	return v
}

func (r *reader) varint() int64 {
	v, n := binary.Varint(r.rest)
	if n <= 0 {
		r.fail(errCutOff)
		return 0
	}
	r.rest = r.rest[n:]
	return v
}

func (r *reader) text() string {
	n := r.uvarint()
	if n > maxIDSize {
		r.fail(fmt.Errorf("an id of %d bytes", n))
		return ""
	}
	return string(r.bytes(n))
}

func decode(b []byte) (*record, error) {
	in := &reader{rest: b}
	if version := in.byte(); in.err == nil && version != recordVersion {
		return nil, fmt.Errorf("record of version %d", version)
	}
	r := &record{}
	r.leaving = in.byte()&flagLeaving != 0
	r.replica = in.text()
	r.epoch = in.uvarint()
	r.seq = in.uvarint()
	r.snapshotFrom = in.uvarint()
	n := in.uvarint()
	if n > maxEntries {
		in.fail(fmt.Errorf("a record of %d entries", n))
	}
	for range n {
		e := in.entry()
		if in.err != nil {
			break
		}
		r.entries = append(r.entries, e)
	}
	if in.err != nil {
		return nil, fmt.Errorf("decode a usage record: %w", in.err)
	}
	return r, nil
}

func (r *reader) entry() entry {
	var e entry
	kind := r.byte()
	e.subject.Kind = Kind(kind &^ uuidFlag)
	if e.subject.Kind >= kinds {
		r.fail(fmt.Errorf("a subject of kind %d", kind))
	}
	if kind&uuidFlag != 0 {
		if id := r.bytes(16); id != nil {
			e.subject.ID = uuid.UUID(id).String()
		}
	} else {
		e.subject.ID = r.text()
	}
	e.incarnation = r.uvarint()
	for i := range e.limits {
		rate := r.uvarint()
		if rate == 0 {
			continue
		}
		e.limits[i] = Limit{Rate: float64(rate) / rateScale, Burst: float64(r.uvarint())}
		e.counters[i] = r.uvarint()
		e.levels[i] = float64(r.varint())
	}
	return e
}

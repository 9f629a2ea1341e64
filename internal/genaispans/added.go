package genaispans

import (
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/looptrace/looptrace/internal/runmodel"
)

// addedSet has a bit for each attribute that the mapping added to a span: those of the targets, then ownKeys.
type addedSet [2]uint64

func (s *addedSet) add(i uint) { s[i/wordBits] |= 1 << (i % wordBits) }

func (s *addedSet) has(i uint) bool { return s[i/wordBits]&(1<<(i%wordBits)) != 0 }

// ownKey is one of ownKeys.
type ownKey uint8

const (
	ownDialect ownKey = iota
	ownFramework
	ownUsageCounted
	ownContinuation
	ownContentState
	ownUsageConvention
	ownSource
	ownKeyCount
)

// ownKeys are Looptrace's own attributes that are no target.
var ownKeys = [ownKeyCount]string{
	ownDialect:         runmodel.KeyDialect,
	ownFramework:       runmodel.KeyFramework,
	ownUsageCounted:    runmodel.KeyUsageCounted,
	ownContinuation:    runmodel.KeyContinuation,
	ownContentState:    keyContentState,
	ownUsageConvention: keyUsageConvention,
	ownSource:          runmodel.KeySource,
}

// Every attribute needs a bit: this constant overflows if there are too many.
const _ = uint(len(addedSet{})*wordBits) - uint(targetCount) - uint(ownKeyCount)

// own returns the value of one of Looptrace's own attributes, and whether the span had it before.
func (x *span) own(key ownKey) (value pcommon.Value, had bool) {
	if value, had = x.attrs.GetOrPutEmpty(ownKeys[key]); !had {
		x.added.add(uint(targetCount) + uint(key))
	}
	return value, had
}

func (x *span) putOwnString(key ownKey, text string) {
	value, _ := x.own(key)
	value.SetStr(text)
}

func (x *span) putOwnBool(key ownKey, b bool) {
	value, _ := x.own(key)
	value.SetBool(b)
}

// writeAdded lists the attributes that the mapping added, so that a reader knows the received ones. Attributes from
// configured rules are not listed.
func (x *span) writeAdded() {
	if x.added == (addedSet{}) {
		return
	}
	list, known := x.lists[x.added]
	if !known {
		list = x.added.list()
		const maxLists = 1 << 10
		if x.lists == nil || len(x.lists) == maxLists {
			x.lists = make(map[addedSet]string)
		}
		x.lists[x.added] = list
	}
	value, received := x.attrs.GetOrPutEmpty(runmodel.KeyAdded)
	if received && value.AsString() != "" { // by an earlier mapping
		list = value.AsString() + " " + list
	}
	value.SetStr(list)
}

func (s *addedSet) list() string {
	var keys []string
	for to := range targetCount {
		if s.has(uint(to)) {
			keys = append(keys, fields[to].key)
		}
	}
	for own, key := range ownKeys {
		if s.has(uint(targetCount) + uint(own)) {
			keys = append(keys, key)
		}
	}
	return strings.Join(keys, " ")
}

package deadletters

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// maxMetadata is the maximum size of the metadata of a committed offset in Kafka (offset.metadata.max.bytes), in bytes.
const maxMetadata = 4096

// span is a range of offsets from first up to, but not including, end.
type span struct{ first, end int64 }

// done is the set of redriven offsets of a partition: all below a watermark, and ranges above it if only some were
// selected. It is stored as a committed offset of the redrive group: the watermark is the offset, the ranges are its
// metadata.
type done struct {
	below  int64
	ranges []span // ascending, and separate from each other and from below
}

func (d *done) has(offset int64) bool {
	if offset < d.below {
		return true
	}
	return slices.ContainsFunc(d.ranges, func(s span) bool { return s.first <= offset && offset < s.end })
}

// add adds an offset. first is the oldest offset in the partition: earlier ones are deleted.
func (d *done) add(offset, first int64) {
	if d.has(offset) {
		return
	}
	d.below = max(d.below, first)
	d.ranges = append(d.ranges, span{offset, offset + 1})
	d.tidy()
}

func (d *done) tidy() {
	slices.SortFunc(d.ranges, func(a, b span) int { return cmp.Compare(a.first, b.first) })
	var kept []span
	for _, s := range d.ranges {
		switch {
		case s.first <= d.below:
			d.below = max(d.below, s.end)
		case len(kept) > 0 && s.first <= kept[len(kept)-1].end:
			kept[len(kept)-1].end = max(kept[len(kept)-1].end, s.end)
		default:
			kept = append(kept, s)
		}
	}
	d.ranges = kept
}

// note formats the ranges as "17,19-23". It drops the newest that do not fit: redriving them again costs work and
// changes nothing.
func (d *done) note() string {
	var b strings.Builder
	for _, s := range d.ranges {
		text := strconv.FormatInt(s.first, 10)
		if last := s.end - 1; last > s.first {
			text += "-" + strconv.FormatInt(last, 10)
		}
		if b.Len() > 0 {
			text = "," + text
		}
		if b.Len()+len(text) > maxMetadata {
			break
		}
		b.WriteString(text)
	}
	return b.String()
}

func parseDone(below int64, note string) (done, error) {
	d := done{below: max(below, 0)}
	if note == "" {
		return d, nil
	}
	for text := range strings.SplitSeq(note, ",") {
		from, to, isRange := strings.Cut(text, "-")
		if !isRange {
			to = from
		}
		first, errFirst := strconv.ParseInt(from, 10, 63) // 63 bits, so that first+1 does not overflow
		last, errLast := strconv.ParseInt(to, 10, 63)
		if errFirst != nil || errLast != nil || last < first {
			return done{}, fmt.Errorf("read what was redriven: %q is not a range of offsets", text)
		}
		d.ranges = append(d.ranges, span{first, last + 1})
	}
	d.tidy()
	return d, nil
}
